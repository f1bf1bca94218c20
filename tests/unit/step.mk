UNIT_TESTS += \
	%D%/step-run \
	%D%/step-units
BENCHES += tests/bench/iteration
