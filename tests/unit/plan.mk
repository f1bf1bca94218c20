## Tests of the layer plan.
