libdtsim_a_SOURCES += \
	%D%/chain.c \
	%D%/deadlock.c \
	%D%/engine.c %D%/engine.h \
	%D%/fluid.c %D%/fluid.h \
	%D%/fuse.c %D%/fuse.h \
	%D%/heap.c %D%/heap.h \
	%D%/interference.c %D%/interference.h \
	%D%/layout.h \
	%D%/maxmin.c %D%/maxmin.h \
	%D%/meeting.c \
	%D%/normal.c %D%/normal.h \
	%D%/path.c \
	%D%/program.c %D%/program.h \
	%D%/random.c %D%/random.h \
	%D%/state.h \
	%D%/stream.c \
	%D%/template.c
