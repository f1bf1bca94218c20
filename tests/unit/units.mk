## Tests of the layer units.
