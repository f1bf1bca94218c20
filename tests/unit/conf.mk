## Tests of the layer conf.
