## Sources of the layer cluster.
