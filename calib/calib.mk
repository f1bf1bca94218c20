# The calibrator alone, on a node without Autotools or GLib; a C compiler and CUDA are enough:
#
#   make -C calib -f calib.mk                      CUDA in /usr/local/cuda, NCCL there or where the system has it
#   make -C calib -f calib.mk CUDA=DIR NCCL=DIR    elsewhere; NCCL=no: without collectives
#   make -C calib -f calib.mk MPI=1                many nodes below mpirun; MPICC names another wrapper
#   make -C calib -f calib.mk NVCC=PROGRAM O=DIR   another compiler of kernels; objects and the program in DIR
#   make -C calib -f calib.mk ARCH=90              kernels for one generation only, which compiles sooner
#   make -C calib -f calib.mk NVCC=no              without kernels: GEMMs, copies and collectives only
#
# The program is O/dtsim-calibrate (build/dtsim-calibrate).
CUDA ?= /usr/local/cuda
O ?= build
CC ?= cc
NVCC ?= $(CUDA)/bin/nvcc
MPICC ?= mpicc
CFLAGS ?= -g -O2
NVCCFLAGS ?= -O2
VERSION ?= $(shell sed -n 's/^AC_INIT(\[dtsim\], \[\(.*\)\])$$/\1/p' ../configure.ac)
CUDA_CPPFLAGS ?= -isystem $(CUDA)/include
CUDA_LIBS ?= -L$(CUDA)/lib64 -L$(CUDA)/lib -Wl,-rpath,$(CUDA)/lib64 -lcublasLt -lcublas -lcudart

# cuDNN is looked for when the program runs; its header says how to ask
CUDNN_HEADERS ?= $(CUDA)/include/cudnn_graph.h /usr/include/cudnn_graph.h

# NCCL=DIR must hold it; without NCCL it is taken where it is
ifdef NCCL
NCCL_HEADERS ?= $(NCCL)/include/nccl.h
NCCL_CPPFLAGS ?= -isystem $(NCCL)/include
NCCL_LIBS ?= -L$(NCCL)/lib -L$(NCCL)/lib64 -Wl,-rpath,$(NCCL)/lib -lnccl
else
NCCL_HEADERS ?= $(CUDA)/include/nccl.h /usr/include/nccl.h
NCCL_LIBS ?= -lnccl
endif

core := $(filter-out main.c backend_none.c cuda_%.c nccl_%.c,$(wildcard *.c))
sources := $(core) main.c $(wildcard cuda_*.c)
program := $(O)/dtsim-calibrate
flags := -std=gnu11 -Wall -Wextra -ffp-contract=off -I$(O) -I.. $(CUDA_CPPFLAGS)
ifneq ($(wildcard $(CUDNN_HEADERS)),)
flags += -DCALIB_CUDNN
endif

compiler = $(CC)
linker = $(CC)
ifneq ($(NCCL),no)
ifneq ($(wildcard $(NCCL_HEADERS)),)
sources += $(wildcard nccl_*.c)
flags += -DCALIB_NCCL $(NCCL_CPPFLAGS)
libraries := $(NCCL_LIBS)
ifdef MPI
linker = $(MPICC)
$(O)/nccl_mpi.o: compiler = $(MPICC)
$(O)/nccl_mpi.o: flags += -DCALIB_MPI
endif
else ifdef NCCL
$(error no $(NCCL_HEADERS); NCCL=DIR names a folder that holds include/nccl.h)
else
$(warning no nccl.h in $(CUDA) or /usr: without collectives; NCCL=DIR names its folder)
endif
endif
objects := $(sources:%.c=$(O)/%.o) $(EXTRA_OBJECTS)

ifneq ($(NVCC),no)
ifeq ($(shell command -v $(NVCC)),)
$(warning no $(NVCC): without kernels; NVCC=PROGRAM names another)
else
flags += -DCALIB_KERNELS
objects += $(patsubst %.cu,$(O)/%.o,$(wildcard *.cu))
endif
endif

all: $(program)

# every source includes config.h first
$(O)/config.h: calib.mk ../configure.ac
	@mkdir -p $(O)
	@printf '#define _GNU_SOURCE 1\n#define PACKAGE_VERSION "%s"\n' '$(VERSION)' >$@

$(O)/%.o: %.c $(O)/config.h
	$(compiler) $(flags) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c $< -o $@

# no exceptions and no guards of statics: nothing of C++ has to be linked
$(O)/%.o: %.cu kernels.cuh kernels.h backend.h gencode.sh
	@mkdir -p $(O)
	$(NVCC) -std=c++14 -I.. `sh gencode.sh $(NVCC) "$(ARCH)"` $(NVCCFLAGS) \
		-Xcompiler -fno-exceptions,-fno-threadsafe-statics,-Wall -c $< -o $@

$(program): $(objects)
	$(linker) $(LDFLAGS) -o $@ $(objects) $(CUDA_LIBS) $(libraries) $(LIBS) -ldl -lpthread -lm

clean:
	rm -rf $(O)

-include $(sources:%.c=$(O)/%.d)
.PHONY: all clean
