## Tests of the calibrator, with recorded timings: there is no GPU in any of them.
UNIT_TESTS += %D%/calib-measure %D%/calib-plan %D%/calib-refine %D%/calib-row %D%/calib-shapes \
	%D%/calib-statistics
EXTRA_DIST += %D%/calib-recorded.h
%C%_calib_measure_LDADD = libcalib.a $(LDADD)
%C%_calib_plan_LDADD = libcalib.a $(LDADD)
%C%_calib_refine_LDADD = libcalib.a $(LDADD)
%C%_calib_row_LDADD = libcalib.a $(LDADD)
%C%_calib_shapes_LDADD = libcalib.a $(LDADD)
%C%_calib_statistics_LDADD = libcalib.a $(LDADD)
