## Tests of the layer cost.
