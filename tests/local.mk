## Four kinds of tests, one driver: unit and property (UNIT_TESTS), fuzz corpora (FUZZ_TARGETS),
## transcripts (GOLDEN_TESTS), lints (LINT_TESTS).
UNIT_TESTS =
FUZZ_TARGETS =
GOLDEN_TESTS =
LINT_TESTS = %D%/bad-input.sh %D%/calib-cudnn.sh %D%/calib-on-device.sh %D%/calib-ranks.sh %D%/calib-stub.sh %D%/lint-layers.sh %D%/lint-lists.sh \
	%D%/lint-names.sh %D%/lint-options.sh \
	%D%/lint-paths.sh %D%/lint-provenance.sh %D%/lint-sizes.sh %D%/published-kernels.sh %D%/published-memory.sh %D%/published-network.sh %D%/readme.sh
BENCHES =

include %D%/unit/local.mk

check_PROGRAMS += $(UNIT_TESTS) $(FUZZ_TARGETS)

## A fuzz target has no main: the linker takes it from the replayer's archive, or from libFuzzer's.
check_LIBRARIES += libreplay.a
libreplay_a_SOURCES = %D%/fuzz/replay.c
if FUZZING
LDADD += $(FUZZ_MAIN)
else
LDADD += libreplay.a
endif

TESTS = $(UNIT_TESTS) $(FUZZ_TARGETS) $(GOLDEN_TESTS) $(LINT_TESTS)
TEST_EXTENSIONS = .golden .sh
tap_driver = env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
LOG_DRIVER = $(tap_driver)
GOLDEN_LOG_DRIVER = $(tap_driver)
SH_LOG_DRIVER = $(tap_driver)
GOLDEN_LOG_COMPILER = $(BASH_PROGRAM) $(srcdir)/%D%/golden.sh
SH_LOG_COMPILER = $(BASH_PROGRAM)
AM_TESTS_ENVIRONMENT = \
	LC_ALL=C TZ=UTC G_DEBUG=fatal-warnings; export LC_ALL TZ G_DEBUG; \
	DTSIM_TEST_DATA='$(abs_top_srcdir)/tests/data'; export DTSIM_TEST_DATA; \
	DTSIM_TEST_CORPUS='$(abs_top_srcdir)/tests/fuzz/corpus'; export DTSIM_TEST_CORPUS; \
	DTSIM_TEST_SOURCE='$(abs_top_srcdir)'; export DTSIM_TEST_SOURCE; \
	PATH='$(abs_top_builddir)':"$$PATH"; export PATH; unset DTSIM_DATA;

EXTRA_DIST += %D%/data %D%/fuzz/corpus %D%/stub-cuda %D%/golden.sh $(GOLDEN_TESTS) $(LINT_TESTS)

update-golden: all
	DTSIM_UPDATE_GOLDEN=1 $(MAKE) check TESTS='$(GOLDEN_TESTS)'

## Figures, no assertion: each program prints what it measured. (Automake owns names in _PROGRAMS.)
EXTRA_PROGRAMS += $(BENCHES)
CLEANFILES += $(BENCHES)
bench: $(BENCHES) all
	@for b in $(BENCHES); do PATH='$(abs_top_builddir)':"$$PATH" ./$$b || exit; done
.PHONY: bench update-golden
