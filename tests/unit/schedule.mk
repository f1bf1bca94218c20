## Tests of the layer schedule.
UNIT_TESTS += %D%/schedule-schedule
UNIT_TESTS += %D%/schedule-csv
UNIT_TESTS += %D%/schedule-vectors
UNIT_TESTS += %D%/schedule-properties
%C%_schedule_vectors_SOURCES = %D%/schedule-vectors.c %D%/schedule-executor.c %D%/schedule-executor.h
%C%_schedule_properties_SOURCES = \
	%D%/schedule-properties.c %D%/schedule-executor.c %D%/schedule-executor.h
BENCHES += tests/bench/schedules
UNIT_TESTS += %D%/schedule-generated
tests_unit_schedule_generated_SOURCES = %D%/schedule-generated.c %D%/schedule-executor.c
UNIT_TESTS += %D%/schedule-lowering
%C%_schedule_lowering_SOURCES = %D%/schedule-lowering.c %D%/schedule-executor.c %D%/schedule-executor.h
FUZZ_TARGETS += tests/fuzz/schedule-csv
