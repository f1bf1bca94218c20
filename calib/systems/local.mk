## Measured machines, installed.
nobase_dist_pkgdata_DATA += \
	%D%/a100-pcie/attention.tsv %D%/a100-pcie/gemm.tsv %D%/a100-pcie/memory.tsv %D%/a100-pcie/system.conf \
	%D%/alps-gh200/collective.tsv %D%/alps-gh200/system.conf \
	%D%/aws-p4d/collective.tsv %D%/aws-p4d/system.conf \
	%D%/aws-p5/collective.tsv %D%/aws-p5/system.conf \
	%D%/azure-nd-a100-v4/collective.tsv %D%/azure-nd-a100-v4/system.conf \
	%D%/azure-nd-h100-v5/system.conf \
	%D%/dgx-a100-40g/collective.tsv %D%/dgx-a100-40g/memory.tsv %D%/dgx-a100-40g/system.conf \
	%D%/dgx-a100-80g/attention.tsv %D%/dgx-a100-80g/collective.tsv %D%/dgx-a100-80g/gemm.tsv \
	%D%/dgx-a100-80g/memory.tsv %D%/dgx-a100-80g/overlap.tsv %D%/dgx-a100-80g/system.conf \
	%D%/dgx-b200/attention.tsv %D%/dgx-b200/collective.tsv %D%/dgx-b200/gemm.tsv %D%/dgx-b200/system.conf \
	%D%/dgx-h100/attention.tsv %D%/dgx-h100/collective.tsv %D%/dgx-h100/gemm.tsv \
	%D%/dgx-h100/memory.tsv %D%/dgx-h100/overlap.tsv %D%/dgx-h100/system.conf \
	%D%/dgx-h200/collective.tsv %D%/dgx-h200/gemm.tsv %D%/dgx-h200/system.conf \
	%D%/dgx1-v100-32g/collective.tsv %D%/dgx1-v100-32g/gemm.tsv %D%/dgx1-v100-32g/memory.tsv \
	%D%/dgx1-v100-32g/system.conf \
	%D%/dgx2-v100-32g/system.conf \
	%D%/gb200-nvl72/collective.tsv %D%/gb200-nvl72/gemm.tsv %D%/gb200-nvl72/system.conf \
	%D%/l40s-pcie/attention.tsv %D%/l40s-pcie/gemm.tsv %D%/l40s-pcie/system.conf \
	%D%/polaris/collective.tsv %D%/polaris/system.conf
