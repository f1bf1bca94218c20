libdtsim_a_SOURCES += \
	%D%/build.h \
	%D%/busy.c \
	%D%/classes.c %D%/columns.c %D%/columns.h \
	%D%/closed_form.c \
	%D%/engine.c \
	%D%/finish.c \
	%D%/gather.c \
	%D%/gradient.c \
	%D%/interference.c \
	%D%/lower.c \
	%D%/lower.h \
	%D%/memory.c \
	%D%/memory_marks.c \
	%D%/noise.c \
	%D%/noise.h \
	%D%/offload.c \
	%D%/pace.c \
	%D%/pace.h \
	%D%/pair.c \
	%D%/path.c \
	%D%/piece.c \
	%D%/price.c \
	%D%/program.c \
	%D%/result.c \
	%D%/samples.h \
	%D%/segment.c \
	%D%/shard.c \
	%D%/shard.h \
	%D%/step.c \
	%D%/step.h \
	%D%/times.c \
	%D%/token.c \
	%D%/traffic.c \
	%D%/units.c \
	%D%/wires.c
