## Tests of the layer cli.
GOLDEN_TESTS += tests/golden/collective.golden tests/golden/config.golden tests/golden/errors.golden tests/golden/explain.golden tests/golden/help.golden tests/golden/kernels.golden \
	tests/golden/memory.golden tests/golden/models.golden tests/golden/run.golden \
	tests/golden/schedules.golden tests/golden/sweep.golden tests/golden/textbook.golden
UNIT_TESTS += %D%/cli-arguments %D%/cli-axis %D%/cli-candidates %D%/cli-config %D%/cli-config-torchtitan %D%/cli-kernels %D%/cli-measured %D%/cli-measured-megatron %D%/cli-sizes %D%/cli-units
EXTRA_DIST += %D%/cli-config-fixture.h
FUZZ_TARGETS += tests/fuzz/cli-config
