UNIT_TESTS += \
	%D%/step-run \
	%D%/step-units
