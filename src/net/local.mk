## Sources of the layer net.
libdtsim_a_SOURCES += \
	%D%/algorithm.c %D%/algorithm.h \
	%D%/book.c %D%/book.h \
	%D%/choice.c \
	%D%/collective.c %D%/collective.h \
	%D%/collnet.c \
	%D%/coverage.c %D%/coverage.h \
	%D%/curve.c %D%/curve.h \
	%D%/direct.c \
	%D%/fabric.c %D%/fabric.h \
	%D%/fit.c %D%/fit.h \
	%D%/lent.c %D%/lent.h \
	%D%/members.c %D%/members.h \
	%D%/mesh_rings.c %D%/mesh_rings.h \
	%D%/nccl.c %D%/nccl.h %D%/nccl_rows.h \
	%D%/nccl_2_10.c \
	%D%/nccl_2_18.c \
	%D%/nccl_2_21.c \
	%D%/nccl_2_23.c \
	%D%/nccl_2_27.c \
	%D%/nccl_2_28.c \
	%D%/nccl_2_30.c \
	%D%/nccl_tests.c %D%/nccl_tests.h \
	%D%/nccl_tests_line.c %D%/nccl_tests_line.h \
	%D%/nccl_tests_table.c %D%/nccl_tests_table.h \
	%D%/neighbours.c \
	%D%/nvls.c \
	%D%/pat.c \
	%D%/routes.c %D%/routes.h \
	%D%/routes_node.c %D%/routes_node.h \
	%D%/ring.c \
	%D%/rows.c %D%/rows.h \
	%D%/search.c \
	%D%/tree.c
