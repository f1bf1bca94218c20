## Sources of the layer conf.
