## Tests of the layer schedule.
UNIT_TESTS += %D%/schedule-schedule
UNIT_TESTS += %D%/schedule-csv
UNIT_TESTS += %D%/schedule-vectors
FUZZ_TARGETS += tests/fuzz/schedule-csv
