## Sources of the layer schedule.
