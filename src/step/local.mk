libdtsim_a_SOURCES += \
	%D%/build.h \
	%D%/classes.c \
	%D%/closed_form.c \
	%D%/engine.c \
	%D%/finish.c \
	%D%/gather.c \
	%D%/gradient.c \
	%D%/lower.c \
	%D%/lower.h \
	%D%/memory.c \
	%D%/memory_marks.c \
	%D%/offload.c \
	%D%/pair.c \
	%D%/path.c \
	%D%/piece.c \
	%D%/price.c \
	%D%/program.c \
	%D%/result.c \
	%D%/shard.c \
	%D%/shard.h \
	%D%/step.c \
	%D%/step.h \
	%D%/times.c \
	%D%/token.c \
	%D%/traffic.c \
	%D%/units.c \
	%D%/wires.c
