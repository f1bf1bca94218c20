## Sources of the layer calibrate.
libdtsim_a_SOURCES += %D%/error.h
libdtsim_a_SOURCES += %D%/event.c %D%/event.h
libdtsim_a_SOURCES += %D%/kernel.c %D%/kernel.h
libdtsim_a_SOURCES += %D%/call.c %D%/call.h
libdtsim_a_SOURCES += %D%/trace.c %D%/trace.h
libdtsim_a_SOURCES += %D%/profile.c %D%/profile.h
libdtsim_a_SOURCES += %D%/machine.c %D%/machine.h
libdtsim_a_SOURCES += %D%/tables.c %D%/tables.h %D%/rows.c
libdtsim_a_SOURCES += %D%/import.c %D%/import.h
libdtsim_a_SOURCES += %D%/import_kineto.c
libdtsim_a_SOURCES += %D%/import_mamf.c
libdtsim_a_SOURCES += %D%/import_nccl_tests.c
libdtsim_a_SOURCES += %D%/import_tsv.c
libdtsim_a_SOURCES += %D%/merge.c %D%/merge.h
