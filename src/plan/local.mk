## Sources of the layer plan.
libdtsim_a_SOURCES += %D%/plan.c %D%/plan.h
libdtsim_a_SOURCES += %D%/resolve.h
libdtsim_a_SOURCES += %D%/batch.c
libdtsim_a_SOURCES += %D%/degrees.c
libdtsim_a_SOURCES += %D%/layers.c \
	%D%/layout.c
libdtsim_a_SOURCES += %D%/memory.c
libdtsim_a_SOURCES += %D%/print.c
libdtsim_a_SOURCES += %D%/ranks.c
libdtsim_a_SOURCES += %D%/run_ahead.c
libdtsim_a_SOURCES += %D%/stages.c
libdtsim_a_SOURCES += %D%/activation.c \
	%D%/allocation.c \
	%D%/context.c \
	%D%/experts.c \
	%D%/framework.c \
	%D%/modules.c \
	%D%/offload.c \
	%D%/optimizer.c \
	%D%/order.c \
	%D%/placement.c \
	%D%/sharding.c \
	%D%/unused.c
