## Sources of the layer cli.
