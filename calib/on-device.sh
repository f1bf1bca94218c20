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
#   AGAINST  the system that it is compared with (the one that ships with this GPU)
#
# Without --shapes some of that system's own matrix products are measured first, and the log ends with a table of our times,
# theirs and their ratios. Without dtsim, which needs GLib, it names the commands to give where there is one. Exit status:
# that of dtsim-calibrate, 77 where there is no GPU; 1 where it does not build.
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

# What dtsim's tables have in columns of these names: NAME... <TABLE, one row a line. Times that hold a cast besides (fp8 of
# some) are left out.
columns() {
    awk -F'\t' -v names="$*" '
        /^# with-cast:/ { cast[$0 ~ /fp8/ ? "fp8" : ""]; next }
        /^#/ { next }
        !n { n = split(names, name, " "); for (i = 1; i <= NF; i++) at[$i] = i; next }
        !($at["dtype"] in cast) {
            for (i = 1; i <= n; i++) printf "%s%s", $at[name[i]], i < n ? "\t" : "\n"
        }'
}

# Some 240 of their matrix products, each of up to 20 ms, as --shapes takes them
theirs() {
    columns time_us dtype pass m n k batch <"$1" | sort -t "$(printf '\t')" -k 1,1g | awk -F'\t' '
        $1 < 20000 { rows[n++] = $2 "\t" $3 "\t" $4 "\t" $5 "\t" $6 "\t" $7 "\t1" }
        END { for (i = 0; i < n; i += n / 240 > 1 ? n / 240 : 1) print "gemm\t" rows[int(i)] }'
}

# Rows that both have: a part of them, the shortest first, and how the ratios of all are spread
compare_rows() { # OURS THEIRS
    { columns dtype pass m n k batch time_us <"$2"; echo; columns dtype pass m n k batch time_us <"$1"; } | awk -F'\t' '
        $0 == "" { ours = 1; next }
        { key = $1 " " $2 "\t" $3 "\t" $4 "\t" $5 "\t" $6 }
        !ours { them[key] = $7; next }
        key in them { printf "%s\t%s\t%s\t%.3f\n", key, $7, them[key], $7 / them[key] }' |
        sort -t "$(printf '\t')" -k 7,7g >"$build/rows"
    printf '# %-14s %8s %8s %8s %6s %11s %11s %6s\n' gemm m n k batch 'ours us' 'theirs us' ratio
    awk -F'\t' -v all="$(wc -l <"$build/rows")" 'int(NR * 40 / all) > int((NR - 1) * 40 / all) {
        printf "# %-14s %8s %8s %8s %6s %11s %11s %6s\n", $1, $2, $3, $4, $5, $6, $7, $8 }' "$build/rows"
    cut -f 8 "$build/rows" | sort -g | awk '{ ratio[NR] = $1 }
        function of(frac) { return ratio[int((NR - 1) * frac + 1.5)] }
        END {
            if (NR == 0) print "# no row of theirs was measured"
            else printf "# ours over theirs, %d rows: median %.3f, a tenth below %.3f, a tenth above %.3f\n",
                NR, of(0.5), of(0.1), of(0.9)
        }'
}

measure() {
    local named=()
    if [[ " $* " != *' --shapes'* ]] && [ -f "$table" ] && theirs "$table" >"$build/shapes"; then
        named=(--shapes "$build/shapes")
    fi
    echo "# $(date -u '+%Y-%m-%d %H:%M:%S') UTC, $(uname -srm)"
    nvidia-smi 2>/dev/null || echo "# no nvidia-smi"
    echo "# build"
    make -s -j"$(nproc)" -C "$root/calib" -f calib.mk O="$build" || return 1
    echo "# built in $SECONDS s"
    ldd "$build/dtsim-calibrate" | grep -E 'cuda|cublas|nccl|cudnn|not found'
    echo "# measure"
    # progress is for people: only its last line is kept
    "$build/dtsim-calibrate" -o "$out/system" --budget "${BUDGET:-6min}" --resume ${named[@]+"${named[@]}"} "$@" \
        2>"$build/progress"
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
    echo "# compare"
    look check calibrate check "$out/system"
    [ -z "$against" ] || look diff calibrate diff "$out/system" "$against"
    [ ! -f "$table" ] || [ ! -f "$out/system/gemm.tsv" ] || compare_rows "$out/system/gemm.tsv" "$table"
}

against=${AGAINST:-$(shipped)}
case $against in
*/*) table=$against/gemm.tsv ;;
*) table=$root/calib/systems/$against/gemm.tsv ;;
esac

{
    measure "$@"
    status=$?
    [ $status != 0 ] || compare
    exit $status
} 2>&1 | tee "$out/log"
