# The calibrator alone, on a node without Autotools or GLib; a C compiler and CUDA are enough:
#
#   make -C calib -f calib.mk                      CUDA in /usr/local/cuda, NCCL there or where the system has it
#   make -C calib -f calib.mk CUDA=DIR NCCL=DIR    elsewhere; NCCL=no: without collectives
#   make -C calib -f calib.mk MPI=1                many nodes below mpirun; MPICC names another wrapper
#   make -C calib -f calib.mk NVCC=PROGRAM O=DIR   another compiler of kernels; objects and the program in DIR
#
# The program is O/dtsim-calibrate (build/dtsim-calibrate).
CUDA ?= /usr/local/cuda
O ?= build
CC ?= cc
NVCC ?= $(CUDA)/bin/nvcc
MPICC ?= mpicc
CFLAGS ?= -g -O2
VERSION ?= $(shell sed -n 's/^AC_INIT(\[dtsim\], \[\(.*\)\])$$/\1/p' ../configure.ac)

core := $(filter-out main.c backend_none.c cuda_%.c nccl_%.c,$(wildcard *.c))
sources := $(core) main.c backend_none.c
program := $(O)/dtsim-calibrate
flags := -std=gnu11 -Wall -Wextra -ffp-contract=off -I$(O) -I..

all: $(program)

# every source includes config.h first
$(O)/config.h: calib.mk ../configure.ac
	@mkdir -p $(O)
	@printf '#define _GNU_SOURCE 1\n#define PACKAGE_VERSION "%s"\n' '$(VERSION)' >$@

$(O)/%.o: %.c $(O)/config.h
	$(CC) $(flags) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c $< -o $@

$(program): $(sources:%.c=$(O)/%.o)
	$(CC) $(LDFLAGS) -o $@ $^ $(LIBS) -lm

clean:
	rm -rf $(O)

-include $(sources:%.c=$(O)/%.d)
.PHONY: all clean
