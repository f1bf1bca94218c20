## Tests of the layer report.
UNIT_TESTS += %D%/report-number %D%/report-table %D%/report-trace %D%/report-validation
