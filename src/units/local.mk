## Sources of the layer units.
