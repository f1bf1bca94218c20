## Sources of the layer cluster.
libdtsim_a_SOURCES += \
	%D%/clos.c %D%/clos.h \
	%D%/description.c %D%/description.h %D%/description_gpus.c \
	%D%/dtype.c \
	%D%/error.h \
	%D%/fabric_dragonfly.c %D%/fabric_fat_tree.c %D%/fabric_ideal.c %D%/fabric_rail.c %D%/fabric_torus.c \
	%D%/keys.c \
	%D%/mesh.c %D%/mesh.h \
	%D%/node_mesh.c %D%/node_nvswitch.c %D%/node_pcie.c \
	%D%/parts.h \
	%D%/placement.c \
	%D%/read.h %D%/read_fabric.c %D%/read_nccl.c %D%/read_node.c \
	%D%/shipped.c %D%/shipped.h \
	%D%/spread.c \
	%D%/system.c %D%/system.h \
	%D%/tables.c %D%/tables.h \
	%D%/topologies.c %D%/topology.h
libdtsim_a_SOURCES += %D%/topo_conf.c %D%/topo_matrix.c %D%/topo_node.c %D%/topo_node.h %D%/topo_xml.c
libdtsim_a_SOURCES += %D%/hostfile.c %D%/hostfile.h
