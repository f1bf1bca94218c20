## Tests of the layer cost.
UNIT_TESTS += %D%/cost-attention %D%/cost-book %D%/cost-gemm %D%/cost-grouped %D%/cost-memory \
	%D%/cost-overlap %D%/cost-roofline %D%/cost-surface %D%/cost-covariates %D%/cost-tiling
BENCHES += tests/bench/kernels
FUZZ_TARGETS += tests/fuzz/cost-overlap tests/fuzz/cost-tables
UNIT_TESTS += %D%/cost-certainty
EXTRA_DIST += %D%/certainty-fixture.h %D%/cost-fixture.h
