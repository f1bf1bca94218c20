## Tests of the layer conf.
UNIT_TESTS += %D%/conf-complaint %D%/conf-datadir %D%/conf-json %D%/conf-json-stream %D%/conf-keyfile %D%/conf-lines %D%/conf-table
FUZZ_TARGETS += tests/fuzz/conf-json tests/fuzz/conf-keyfile tests/fuzz/conf-table
EXTRA_DIST += tests/data/conf/memory.tsv
