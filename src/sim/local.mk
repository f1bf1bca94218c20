## Sources of the layer sim.
