## Tests of the calibrator, with recorded timings: there is no GPU in any of them.
UNIT_TESTS += %D%/calib-command %D%/calib-crew %D%/calib-host %D%/calib-launch %D%/calib-load \
	%D%/calib-measure %D%/calib-narrow %D%/calib-plan %D%/calib-progress %D%/calib-refine %D%/calib-row %D%/calib-seats \
	%D%/calib-session %D%/calib-shapes %D%/calib-statistics %D%/calib-store
FUZZ_TARGETS += tests/fuzz/calib-lines
EXTRA_DIST += %D%/calib-folder.h %D%/calib-recorded.h
%C%_calib_command_SOURCES = %D%/calib-command.c calib/backend_none.c
%C%_calib_command_LDADD = libcalib.a $(LDADD)
%C%_calib_load_LDADD = libcalib.a $(LDADD)
%C%_calib_host_LDADD = libcalib.a $(LDADD)
%C%_calib_measure_LDADD = libcalib.a $(LDADD)
%C%_calib_narrow_LDADD = libcalib.a $(LDADD)
%C%_calib_plan_LDADD = libcalib.a $(LDADD)
%C%_calib_progress_LDADD = libcalib.a $(LDADD)
%C%_calib_refine_LDADD = libcalib.a $(LDADD)
%C%_calib_row_LDADD = libcalib.a $(LDADD)
%C%_calib_session_LDADD = libcalib.a $(LDADD)
%C%_calib_shapes_LDADD = libcalib.a $(LDADD)
%C%_calib_statistics_LDADD = libcalib.a $(LDADD)
%C%_calib_store_LDADD = libcalib.a $(LDADD)
tests_fuzz_calib_lines_LDADD = libcalib.a $(LDADD)
%C%_calib_crew_LDADD = libcalib.a $(LDADD)
%C%_calib_launch_LDADD = libcalib.a $(LDADD)
%C%_calib_seats_LDADD = libcalib.a $(LDADD)
