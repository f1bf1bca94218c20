## Tests of the layer net.
UNIT_TESTS += %D%/net-algorithm %D%/net-book %D%/net-choice %D%/net-collective %D%/net-curve %D%/net-exchange \
	%D%/net-facts %D%/net-rows
UNIT_TESTS += %D%/net-nccl-tests
FUZZ_TARGETS += tests/fuzz/net-rows
FUZZ_TARGETS += tests/fuzz/net-nccl-tests
UNIT_TESTS += %D%/net-routes
UNIT_TESTS += %D%/net-lent
UNIT_TESTS += %D%/net-certainty
