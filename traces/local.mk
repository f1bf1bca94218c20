nobase_dist_pkgdata_DATA += \
	traces/kernels/attention.csv \
	traces/kernels/gemm.csv \
	traces/network/nccl.csv \
	traces/published/bigscience_a100.csv \
	traces/published/korthikanti_selective_recompute.csv \
	traces/published/megatron_lm.csv \
	traces/published/nanotron_h100.csv \
	traces/published/vtrain_multi.csv
