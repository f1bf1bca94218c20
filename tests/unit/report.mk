## Tests of the layer report.
UNIT_TESTS += %D%/report-accuracy %D%/report-advice %D%/report-certainty %D%/report-gantt %D%/report-number %D%/report-table %D%/report-timeline %D%/report-trace %D%/report-validation
UNIT_TESTS += %D%/report-shapes
%C%_report_shapes_LDADD = libcalib.a $(LDADD)
GOLDEN_TESTS += tests/golden/shapes.golden
