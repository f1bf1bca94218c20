## Sources of the layer units.
libdtsim_a_SOURCES += %D%/quantity.c %D%/quantity.h
libdtsim_a_SOURCES += %D%/quantile.c %D%/quantile.h
libdtsim_a_SOURCES += %D%/why.c %D%/why.h
