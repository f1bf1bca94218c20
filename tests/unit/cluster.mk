## Tests of the layer cluster.
UNIT_TESTS += %D%/cluster-description %D%/cluster-dtype %D%/cluster-placement %D%/cluster-system \
	%D%/cluster-topology
FUZZ_TARGETS += tests/fuzz/cluster-description tests/fuzz/cluster-system
EXTRA_DIST += %D%/cluster-machine.h
GOLDEN_TESTS += tests/golden/machines.golden
UNIT_TESTS += %D%/cluster-hostfile
FUZZ_TARGETS += tests/fuzz/cluster-hostfile
UNIT_TESTS += %D%/cluster-topo
FUZZ_TARGETS += tests/fuzz/cluster-topo
GOLDEN_TESTS += tests/golden/topology.golden
UNIT_TESTS += %D%/cluster-tables
GOLDEN_TESTS += tests/golden/systems.golden
