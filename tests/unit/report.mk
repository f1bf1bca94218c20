## Tests of the layer report.
