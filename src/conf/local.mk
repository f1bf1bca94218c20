## Sources of the layer conf.
libdtsim_a_SOURCES += %D%/complaint.c %D%/complaint.h
libdtsim_a_SOURCES += %D%/datadir.c %D%/datadir.h
libdtsim_a_SOURCES += %D%/json.c %D%/json.h
libdtsim_a_SOURCES += %D%/json_stream.c %D%/json_stream.h
libdtsim_a_SOURCES += %D%/keyfile.c %D%/keyfile.h
libdtsim_a_SOURCES += %D%/line_label.c %D%/line_label.h
libdtsim_a_SOURCES += %D%/lines.c %D%/lines.h
libdtsim_a_SOURCES += %D%/stream.c %D%/stream.h
libdtsim_a_SOURCES += %D%/table.c %D%/table.h
