## Sources of the layer net.
