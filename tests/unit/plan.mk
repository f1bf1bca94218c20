## Tests of the layer plan.
UNIT_TESTS += %D%/plan-plan
UNIT_TESTS += %D%/plan-layers
UNIT_TESTS += %D%/plan-layout
UNIT_TESTS += %D%/plan-ranks
UNIT_TESTS += %D%/plan-memory
UNIT_TESTS += %D%/plan-estimators
UNIT_TESTS += %D%/plan-sharding
UNIT_TESTS += %D%/plan-unused
UNIT_TESTS += %D%/plan-experts
FUZZ_TARGETS += tests/fuzz/plan-layers
FUZZ_TARGETS += tests/fuzz/plan-lists
EXTRA_DIST += %D%/plan-fixture.h
UNIT_TESTS += %D%/plan-placement
