## Sources of the layer report.
