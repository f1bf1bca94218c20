## Sources of the layer cluster.
libdtsim_a_SOURCES += %D%/dtype.c %D%/error.h %D%/placement.c %D%/shipped.c %D%/shipped.h \
	%D%/system.c %D%/system.h %D%/topology.h
