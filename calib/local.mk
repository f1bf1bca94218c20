## The calibrator. Its core is a library that the tests link everywhere; the program is built where there is CUDA.
noinst_LIBRARIES += libcalib.a
libcalib_a_SOURCES = %D%/backend.h %D%/case.c %D%/case.h %D%/case_size.c %D%/channel.c \
	%D%/channel.h %D%/command.c %D%/command.h %D%/crew.c %D%/crew.h %D%/crew_join.c \
	%D%/crew_join.h %D%/derive.c %D%/derive.h %D%/dry_run.c %D%/dry_run.h %D%/file.c \
	%D%/file.h %D%/follow.c %D%/follow.h %D%/grow.h %D%/head.c %D%/head.h %D%/host.c \
	%D%/host.h %D%/interrupt.c %D%/interrupt.h %D%/launch.c %D%/launch.h %D%/measure.c \
	%D%/measure.h %D%/narrow.c %D%/narrow.h %D%/nominal.c %D%/nominal.h %D%/options.c \
	%D%/options.h %D%/plan.c %D%/plan.h %D%/progress.c %D%/progress.h %D%/refine.c \
	%D%/refine.h %D%/refine_gemm.c %D%/refine_gemm.h %D%/rendezvous.c %D%/rendezvous.h \
	%D%/roofline.c %D%/row.c %D%/row.h %D%/seats.c %D%/seats.h %D%/session.c %D%/session.h \
	%D%/shapes.c %D%/shapes.h %D%/statistics.c %D%/statistics.h %D%/store.c %D%/store.h \
	%D%/surface.c %D%/surface.h %D%/sweep.h %D%/sweep_attention.c %D%/sweep_collective.c \
	%D%/sweep_gemm.c %D%/sweep_memory.c %D%/sweep_overlap.c %D%/system.c %D%/system.h \
	%D%/table_attention.c %D%/table_collective.c %D%/table_gemm.c %D%/table_memory.c \
	%D%/table_overlap.c %D%/tables.h %D%/watch.c %D%/watch.h
EXTRA_DIST += %D%/README.md %D%/backend_none.c %D%/calib.mk %D%/dtsim-calibrate.1 %D%/gencode.sh \
	%D%/kernels.cu %D%/kernels.cuh %D%/kernels.h %D%/kernels_elements.cu %D%/kernels_entropy.cu \
	%D%/kernels_rows.cu %D%/kernels_scores.cu %D%/on-device.sh %D%/slurm.sbatch

if HAVE_CUDA
bin_PROGRAMS += dtsim-calibrate
man1_MANS = %D%/dtsim-calibrate.1
dtsim_calibrate_SOURCES = %D%/cuda_attention.c %D%/cuda_attention_graph.c \
	%D%/cuda_attention_graph.h %D%/cuda_backend.c %D%/cuda_copy.c %D%/cuda_cudnn.c \
	%D%/cuda_cudnn.h %D%/cuda_error.c %D%/cuda_error.h %D%/cuda_fused.c %D%/cuda_fused.h \
	%D%/cuda_gemm.c %D%/cuda_gpu.c %D%/cuda_gpu.h %D%/cuda_graph.c %D%/cuda_graph.h \
	%D%/cuda_machine.c %D%/cuda_machine.h %D%/cuda_memory.c %D%/cuda_nvml.c %D%/cuda_nvml.h \
	%D%/cuda_overlap.c %D%/cuda_product.c %D%/cuda_product.h %D%/cuda_timing.c \
	%D%/cuda_timing.h %D%/cuda_traffic.c %D%/cuda_traffic.h %D%/cuda_work.h %D%/main.c \
	%D%/nccl_error.c %D%/nccl_error.h %D%/nccl_groups.c %D%/nccl_groups.h %D%/nccl_hello.c \
	%D%/nccl_hello.h %D%/nccl_mpi.c %D%/nccl_mpi.h %D%/nccl_team.c %D%/nccl_team.h \
	%D%/nccl_traffic.c %D%/nccl_traffic.h %D%/nvml.h
dtsim_calibrate_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS) -DCALIB_NCCL
dtsim_calibrate_LDFLAGS = $(AM_LDFLAGS) $(CUDA_LDFLAGS)
dtsim_calibrate_LDADD = libcalib.a $(CUDA_LIBS) -ldl -lpthread -lm

## Many nodes below mpirun.
if HAVE_MPI
dtsim_calibrate_CPPFLAGS += -DCALIB_MPI $(MPI_CPPFLAGS)
dtsim_calibrate_LDADD += $(MPI_LIBS)
endif

## Without nvcc the kernels are left out, and tables say so.
if HAVE_NVCC
dtsim_calibrate_CPPFLAGS += -DCALIB_KERNELS
calib_kernels = %D%/kernels.$(OBJEXT) %D%/kernels_elements.$(OBJEXT) %D%/kernels_entropy.$(OBJEXT) \
	%D%/kernels_rows.$(OBJEXT) %D%/kernels_scores.$(OBJEXT)
dtsim_calibrate_LDADD += $(calib_kernels)
$(calib_kernels): %D%/kernels.cuh %D%/kernels.h %D%/backend.h %D%/gencode.sh
.cu.$(OBJEXT):
	$(AM_V_GEN)$(MKDIR_P) $(@D) && $(NVCC) -std=c++14 -I$(srcdir) \
	  `sh $(srcdir)/%D%/gencode.sh $(NVCC) "$(CUDA_ARCH)"` -O2 \
	  -Xcompiler -fno-exceptions,-fno-threadsafe-statics -c $< -o $@
CLEANFILES += $(calib_kernels)
endif
endif
