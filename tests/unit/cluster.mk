## Tests of the layer cluster.
