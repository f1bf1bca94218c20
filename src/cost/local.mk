## Sources of the layer cost.
