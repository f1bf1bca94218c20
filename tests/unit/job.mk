## Tests of the layer job.
