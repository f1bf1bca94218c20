## Sources of the layer cluster.
libdtsim_a_SOURCES += %D%/dtype.c %D%/error.h %D%/hostfile.c %D%/hostfile.h %D%/keys.c %D%/mesh.c %D%/mesh.h %D%/placement.c %D%/read.h \
	%D%/read_fabric.c %D%/read_nccl.c %D%/read_node.c %D%/shipped.c %D%/shipped.h \
	%D%/system.c %D%/system.h %D%/topology.h
