## Tests of the layer sim.
UNIT_TESTS += %D%/sim-changes
UNIT_TESTS += %D%/sim-deadlock
UNIT_TESTS += %D%/sim-engine
UNIT_TESTS += %D%/sim-fluid
UNIT_TESTS += %D%/sim-fuse
UNIT_TESTS += %D%/sim-graphs
UNIT_TESTS += %D%/sim-heap
UNIT_TESTS += %D%/sim-interference
UNIT_TESTS += %D%/sim-maxmin
UNIT_TESTS += %D%/sim-normal
UNIT_TESTS += %D%/sim-path
UNIT_TESTS += %D%/sim-pipeline
UNIT_TESTS += %D%/sim-program
UNIT_TESTS += %D%/sim-random
UNIT_TESTS += %D%/sim-world
EXTRA_DIST += %D%/sim-reference.h
BENCHES += tests/bench/engine
