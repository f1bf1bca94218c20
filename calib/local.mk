## The calibrator. Its core is a library that the tests link everywhere; the program is built where there is CUDA.
noinst_LIBRARIES += libcalib.a
libcalib_a_SOURCES = %D%/backend.h %D%/case.c %D%/case.h %D%/case_size.c %D%/command.c %D%/command.h \
	%D%/derive.c %D%/derive.h %D%/dry_run.c %D%/dry_run.h %D%/file.c %D%/file.h %D%/follow.c %D%/follow.h \
	%D%/grow.h %D%/head.c %D%/head.h %D%/interrupt.c %D%/interrupt.h %D%/measure.c %D%/measure.h \
	%D%/nominal.c %D%/nominal.h %D%/options.c %D%/options.h %D%/plan.c %D%/plan.h %D%/progress.c \
	%D%/progress.h %D%/refine.c %D%/refine.h %D%/refine_gemm.c %D%/refine_gemm.h %D%/roofline.c \
	%D%/row.c %D%/row.h %D%/session.c %D%/session.h %D%/shapes.c %D%/shapes.h %D%/statistics.c \
	%D%/statistics.h %D%/store.c %D%/store.h %D%/surface.c %D%/surface.h %D%/sweep.h \
	%D%/sweep_attention.c %D%/sweep_collective.c %D%/sweep_gemm.c %D%/sweep_memory.c \
	%D%/sweep_overlap.c %D%/system.c %D%/system.h %D%/table_attention.c %D%/table_collective.c \
	%D%/table_gemm.c %D%/table_memory.c %D%/table_overlap.c %D%/tables.h
EXTRA_DIST += %D%/calib.mk %D%/backend_none.c %D%/dtsim-calibrate.1

if HAVE_CUDA
bin_PROGRAMS += dtsim-calibrate
man_MANS = %D%/dtsim-calibrate.1
dtsim_calibrate_SOURCES = %D%/main.c %D%/backend_none.c
dtsim_calibrate_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
dtsim_calibrate_LDFLAGS = $(AM_LDFLAGS) $(CUDA_LDFLAGS)
dtsim_calibrate_LDADD = libcalib.a $(CUDA_LIBS) -lm
endif
