#!/bin/bash
# Builds the calibrator on a node with a GPU, measures, and leaves what was measured, with a log, below $OUT:
#
#   calib/on-device.sh [OPTION...]        options of dtsim-calibrate: --shapes FILE, --only gemm, ...
#
#   OUT      where system/ and log go (./measured)
#   BUDGET   time to measure (6min)
#   CUDA     where CUDA is (/usr/local/cuda); all variables of calib/calib.mk do, too
#   ARCH     generations to compile kernels for (that of the GPU, where nvidia-smi tells it)
#   DTSIM    dtsim, which then looks at what was measured (./dtsim, or that in PATH): OUT/check, OUT/diff
#   AGAINST  the system that OUT/diff is against (the one that ships with this GPU)
#
# Without dtsim, which needs GLib, the log ends with the commands to give where there is one. Exit status: that of
# dtsim-calibrate, 77 where there is no GPU; 1 where it does not build.
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

# The machine that ships with GPU 0; nothing where none does.
shipped() {
    case $(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -n 1) in
    *GB200*) echo gb200-nvl72 ;;
    *B200*) echo dgx-b200 ;;
    *GH200*) echo alps-gh200 ;;
    *H200*) echo dgx-h200 ;;
    *H100*) echo dgx-h100 ;;
    *A100*PCI*) echo a100-pcie ;;
    *A100*80GB*) echo dgx-a100-80g ;;
    *A100*) echo dgx-a100-40g ;;
    *L40S*) echo l40s-pcie ;;
    *V100*) echo dgx2-v100-32g ;;
    esac
}

# look FILE COMMAND...: what dtsim says goes to OUT/FILE, the command to the log
look() {
    local file=$1 dtsim=${DTSIM:-}
    shift
    [ -n "$dtsim" ] || dtsim=$(command -v "$root/dtsim" || command -v dtsim)
    echo "dtsim $*"
    [ -z "$dtsim" ] || "$dtsim" "$@" >"$out/$file" 2>&1 || echo "# status $?: see $file"
}

compare() {
    local against=${AGAINST:-$(shipped)}
    echo "# compare"
    look check calibrate check "$out/system"
    [ -z "$against" ] || look diff calibrate diff "$out/system" "$against"
}

{
    measure "$@"
    status=$?
    [ $status != 0 ] || compare
    exit $status
} 2>&1 | tee "$out/log"
