## Tests of the layer llm.
UNIT_TESTS += %D%/llm-activation
UNIT_TESTS += %D%/llm-context
UNIT_TESTS += %D%/llm-flops
UNIT_TESTS += %D%/llm-layers
UNIT_TESTS += %D%/llm-matrix
UNIT_TESTS += %D%/llm-moe
UNIT_TESTS += %D%/llm-ops
UNIT_TESTS += %D%/llm-parameters
UNIT_TESTS += %D%/llm-shape
FUZZ_TARGETS += tests/fuzz/llm-shape
EXTRA_DIST += %D%/llm-fixture.h %D%/llm-lists.h
