## Sources of the layer llm.
libdtsim_a_SOURCES += %D%/activation.c
libdtsim_a_SOURCES += %D%/core.c
libdtsim_a_SOURCES += %D%/emit.c %D%/emit.h
libdtsim_a_SOURCES += %D%/ends.c
libdtsim_a_SOURCES += %D%/family.c %D%/family.h
libdtsim_a_SOURCES += %D%/flops.c %D%/flops.h
libdtsim_a_SOURCES += %D%/layer.c
libdtsim_a_SOURCES += %D%/ops.c %D%/ops.h
libdtsim_a_SOURCES += %D%/parameters.c %D%/parameters.h
libdtsim_a_SOURCES += %D%/print.c
libdtsim_a_SOURCES += %D%/read.c %D%/read.h
libdtsim_a_SOURCES += %D%/refuse.c %D%/refuse.h
libdtsim_a_SOURCES += %D%/shape.c %D%/shape.h
