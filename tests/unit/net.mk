## Tests of the layer net.
