## Tests of the layer plan.
UNIT_TESTS += %D%/plan-plan
UNIT_TESTS += %D%/plan-layers
UNIT_TESTS += %D%/plan-layout
UNIT_TESTS += %D%/plan-ranks
UNIT_TESTS += %D%/plan-memory
FUZZ_TARGETS += tests/fuzz/plan-layers
EXTRA_DIST += %D%/plan-fixture.h
