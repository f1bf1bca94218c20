## Sources of the layer job.
