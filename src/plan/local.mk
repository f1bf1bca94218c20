## Sources of the layer plan.
