## Sources of the layer step.
