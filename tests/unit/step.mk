UNIT_TESTS += \
	%D%/step-chain \
	%D%/step-doubt \
	%D%/step-exposed \
	%D%/step-grid \
	%D%/step-host \
	%D%/step-interference \
	%D%/step-memory \
	%D%/step-noise \
	%D%/step-path \
	%D%/step-offload \
	%D%/step-published \
	%D%/step-run \
	%D%/step-samples \
	%D%/step-shapes \
	%D%/step-shard \
	%D%/step-units \
	%D%/step-volumes
EXTRA_DIST += %D%/step-doubts.h %D%/step-expect.h %D%/step-fixture.h %D%/step-record.h
BENCHES += tests/bench/iteration tests/bench/samples
UNIT_TESTS += %D%/step-placement
GOLDEN_TESTS += tests/golden/placement.golden
UNIT_TESTS += %D%/step-contention
GOLDEN_TESTS += tests/golden/contention.golden
EXTRA_DIST += tests/data/network/system.conf
GOLDEN_TESTS += tests/golden/noise.golden
