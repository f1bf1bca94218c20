## Sources of the layer cost.
libdtsim_a_SOURCES += %D%/attention.c %D%/attention_table.c %D%/attention_table.h %D%/book.c \
	%D%/book.h %D%/cells.c %D%/cells.h %D%/covariates.c \
	%D%/covariates.h %D%/gemm.c %D%/gemm_table.c %D%/gemm_table.h \
	%D%/kernel.h %D%/memory.c %D%/memory_table.c %D%/memory_table.h %D%/overlap.c \
	%D%/overlap.h %D%/overlap_table.c %D%/overlap_table.h %D%/roofline.c %D%/roofline.h \
	%D%/surface.c %D%/surface.h %D%/tiling.c %D%/tiling.h
