#!/bin/bash
# The true cuDNN, where it is, takes our graphs of fused attention for an H100 that need not be there. NVIDIA's stub of
# the driver stands in for it, so that kernels are compiled and only their loading fails.
source=$(cd "${DTSIM_TEST_SOURCE:-$(dirname "$0")/..}" && pwd) || exit
cuda=${CUDA_HOME:-/usr/local/cuda}
driver=$cuda/lib64/stubs/libcuda.so
skip() {
    echo "1..0 # SKIP $1"
    exit 0
}
[ -e "$cuda/include/cudnn_graph.h" ] || skip "no cuDNN 9 in $cuda"
[ -e "$driver" ] || skip "no stub of the driver in $cuda"
room=$(mktemp -d) || exit
trap 'rm -rf "$room"' EXIT
cd "$room" || exit
echo '#define _GNU_SOURCE 1' >config.h
ln -s "$driver" libcuda.so.1
echo 1..1
result() { # FINDINGS
    [ -z "$1" ] || sed 's/^/# /' <<<"$1"
    echo "$([ -z "$1" ] || echo "not ")ok 1 - cuDNN has engines for our graphs, forward and backward"
}
calib=$source/calib
if ! said=$(${CC:-cc} -std=gnu11 -DCALIB_CUDNN -I. -I"$source" -isystem "$cuda/include" \
    "$source/tests/stub-cuda/plan.c" "$calib/cuda_cudnn.c" "$calib/cuda_graph.c" "$calib/cuda_error.c" \
    "$calib/cuda_attention_graph.c" -L"$cuda/lib64" -Wl,-rpath,"$cuda/lib64" -lcudart -lcublas -ldl \
    -o plan 2>&1); then
    result "$said"
    exit 1
fi
said=$(LD_LIBRARY_PATH=$room:${LD_LIBRARY_PATH:-} ./plan "$source/tests/stub-cuda/h100.json" 2>&1)
status=$?
if [ "$status" = 77 ]; then
    echo "ok 1 # SKIP this cuDNN knows no GPU that is not there"
else
    result "$said$([ "$status" = 0 ] || echo " (status $status)")"
fi
