## Tests of the layer sim.
