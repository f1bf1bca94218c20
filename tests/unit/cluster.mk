## Tests of the layer cluster.
UNIT_TESTS += %D%/cluster-dtype %D%/cluster-placement %D%/cluster-system
FUZZ_TARGETS += tests/fuzz/cluster-system
UNIT_TESTS += %D%/cluster-hostfile
FUZZ_TARGETS += tests/fuzz/cluster-hostfile
