## Measured machines, installed.
nobase_dist_pkgdata_DATA += \
	%D%/dgx-a100-80g/attention.tsv %D%/dgx-a100-80g/collective.tsv %D%/dgx-a100-80g/gemm.tsv \
	%D%/dgx-a100-80g/memory.tsv %D%/dgx-a100-80g/overlap.tsv \
	%D%/dgx-a100-80g/system.conf \
	%D%/dgx-h100/attention.tsv %D%/dgx-h100/collective.tsv %D%/dgx-h100/gemm.tsv \
	%D%/dgx-h100/memory.tsv %D%/dgx-h100/overlap.tsv %D%/dgx-h100/system.conf \
	%D%/dgx1-v100-32g/collective.tsv %D%/dgx1-v100-32g/gemm.tsv %D%/dgx1-v100-32g/memory.tsv \
	%D%/dgx1-v100-32g/system.conf
