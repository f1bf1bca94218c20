## Sources of the layer search.
