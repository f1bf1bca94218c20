## Tests of the layer step.
