## Tests of the layer calibrate.
UNIT_TESTS += %D%/calibrate-chakra %D%/calibrate-check %D%/calibrate-diff %D%/calibrate-event %D%/calibrate-fit %D%/calibrate-fit-line %D%/calibrate-import %D%/calibrate-kernel %D%/calibrate-megatron-log %D%/calibrate-merge %D%/calibrate-steady %D%/calibrate-nearby %D%/calibrate-trace
FUZZ_TARGETS += tests/fuzz/calibrate-chakra tests/fuzz/calibrate-megatron-log tests/fuzz/calibrate-tables tests/fuzz/calibrate-trace
BENCHES += tests/bench/profile
GOLDEN_TESTS += tests/golden/calibrate-chakra.golden tests/golden/calibrate-check.golden tests/golden/calibrate-diff.golden tests/golden/calibrate-fit.golden tests/golden/calibrate-import.golden tests/golden/calibrate-megatron-log.golden tests/golden/calibrate-plot.golden
