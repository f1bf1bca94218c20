## Tests of the layer conf.
UNIT_TESTS += %D%/conf-complaint %D%/conf-datadir %D%/conf-document %D%/conf-json %D%/conf-json-stream %D%/conf-keyfile %D%/conf-lines %D%/conf-table %D%/conf-toml
FUZZ_TARGETS += tests/fuzz/conf-json tests/fuzz/conf-keyfile tests/fuzz/conf-table tests/fuzz/conf-toml tests/fuzz/conf-yaml
EXTRA_DIST += tests/data/conf/memory.tsv
