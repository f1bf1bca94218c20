## The calibrator.
