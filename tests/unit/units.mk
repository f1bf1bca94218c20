## Tests of the layer units.
UNIT_TESTS += %D%/units-quantile %D%/units-quantity %D%/units-why
FUZZ_TARGETS += tests/fuzz/units-quantity
