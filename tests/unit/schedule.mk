## Tests of the layer schedule.
