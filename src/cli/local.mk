## Sources of the layer cli.
libdtsim_a_SOURCES += %D%/arguments.c %D%/arguments.h
libdtsim_a_SOURCES += %D%/axis.c
libdtsim_a_SOURCES += %D%/case.c %D%/case.h
libdtsim_a_SOURCES += %D%/command.h
libdtsim_a_SOURCES += %D%/commands.c
libdtsim_a_SOURCES += %D%/explain.c
libdtsim_a_SOURCES += %D%/format.c %D%/format.h
libdtsim_a_SOURCES += %D%/inputs.c %D%/inputs.h
libdtsim_a_SOURCES += %D%/memory.c
libdtsim_a_SOURCES += %D%/models.c
libdtsim_a_SOURCES += %D%/output.c %D%/output.h
libdtsim_a_SOURCES += %D%/run.c
libdtsim_a_SOURCES += %D%/scenario.c %D%/scenario.h
libdtsim_a_SOURCES += %D%/show_config.c
libdtsim_a_SOURCES += %D%/systems.c
