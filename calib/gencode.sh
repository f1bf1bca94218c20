#!/bin/sh
# Prints nvcc's -gencode options: gencode.sh NVCC ["90 100"]
# Machine code for each generation from Volta to Blackwell that this nvcc knows, and PTX of the newest for later ones.
nvcc=${1:?usage: gencode.sh NVCC [ARCHITECTURES]}
known=$("$nvcc" --list-gpu-arch) || exit
options= newest=
for arch in ${2:-70 75 80 86 89 90 100 120}; do
    case $known in
    *"compute_$arch"*)
        options="$options -gencode arch=compute_$arch,code=sm_$arch"
        newest=$arch
        ;;
    esac
done
[ -n "$newest" ] || { echo "gencode.sh: $nvcc knows none of ${2:-70 to 120}" >&2; exit 1; }
echo "$options -gencode arch=compute_$newest,code=compute_$newest"
