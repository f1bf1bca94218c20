## Sources of the layer schedule.
libdtsim_a_SOURCES += %D%/schedule.c %D%/schedule.h
libdtsim_a_SOURCES += %D%/types.h
libdtsim_a_SOURCES += %D%/check.c
libdtsim_a_SOURCES += %D%/csv.c
libdtsim_a_SOURCES += %D%/1f1b.c
libdtsim_a_SOURCES += %D%/gpipe.c
libdtsim_a_SOURCES += %D%/interleaved_megatron.c
libdtsim_a_SOURCES += %D%/interleaved_torch.c
libdtsim_a_SOURCES += %D%/naive.c
