#!/bin/bash
# Builds the calibrator on a node with a GPU, measures, and leaves what was measured, with a log, below $OUT:
#
#   calib/on-device.sh [OPTION...]        options of dtsim-calibrate: --shapes FILE, --only gemm, ...
#
#   OUT      where system/ and log go (./measured)
#   BUDGET   time to measure (6min)
#   CUDA     where CUDA is (/usr/local/cuda); all variables of calib/calib.mk do, too
#   ARCH     generations to compile kernels for (that of the GPU, where nvidia-smi tells it)
#
# Exit status: that of dtsim-calibrate, 77 where there is no GPU; 1 where it does not build. It compares nothing:
# dtsim calibrate check OUT/system does.
set -u -o pipefail
root=$(cd "$(dirname "$0")/.." && pwd) || exit
out=${OUT:-measured}
mkdir -p "$out" || exit
out=$(cd "$out" && pwd) || exit
build=$(mktemp -d) || exit
trap 'rm -rf "$build"' EXIT

# one generation compiles in seconds, all of them in a minute
if [ -z "${ARCH:-}" ]; then
    ARCH=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -n 1 | tr -d '. \r')
fi
export ARCH

measure() {
    echo "# $(date -u '+%Y-%m-%d %H:%M:%S') UTC, $(uname -srm)"
    nvidia-smi 2>/dev/null || echo "# no nvidia-smi"
    echo "# build"
    make -s -j"$(nproc)" -C "$root/calib" -f calib.mk O="$build" || return 1
    echo "# built in $SECONDS s"
    ldd "$build/dtsim-calibrate" | grep -E 'cuda|cublas|nccl|cudnn|not found'
    echo "# measure"
    # progress is for people: only its last line is kept
    "$build/dtsim-calibrate" -o "$out/system" --budget "${BUDGET:-6min}" --resume "$@" 2>"$build/progress"
    local status=$?
    tr '\r' '\n' <"$build/progress" | grep . | tail -n 3
    echo "# status $status after $SECONDS s"
    return $status
}

measure "$@" 2>&1 | tee "$out/log"
