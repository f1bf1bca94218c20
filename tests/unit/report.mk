## Tests of the layer report.
UNIT_TESTS += %D%/report-gantt %D%/report-number %D%/report-table %D%/report-trace %D%/report-validation
