## Tests of the layer cli.
