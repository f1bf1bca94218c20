## Sources of the layer conf.
libdtsim_a_SOURCES += %D%/complaint.c %D%/complaint.h
libdtsim_a_SOURCES += %D%/datadir.c %D%/datadir.h
libdtsim_a_SOURCES += %D%/document.c %D%/document.h
libdtsim_a_SOURCES += %D%/document_json.c
libdtsim_a_SOURCES += %D%/document_toml.c
libdtsim_a_SOURCES += %D%/document_yaml.c
libdtsim_a_SOURCES += %D%/json.c %D%/json.h
libdtsim_a_SOURCES += %D%/json_stream.c %D%/json_stream.h
libdtsim_a_SOURCES += %D%/keyfile.c %D%/keyfile.h
libdtsim_a_SOURCES += %D%/line_label.c %D%/line_label.h
libdtsim_a_SOURCES += %D%/lines.c %D%/lines.h
libdtsim_a_SOURCES += %D%/stream.c %D%/stream.h
libdtsim_a_SOURCES += %D%/table.c %D%/table.h
libdtsim_a_SOURCES += %D%/toml.h
libdtsim_a_SOURCES += %D%/toml_value.c
libdtsim_a_SOURCES += %D%/tree.h
