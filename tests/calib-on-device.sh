#!/bin/bash
# calib/on-device.sh from its first line to its last on a GPU that computes nothing: it builds, measures, has dtsim look at
# what was measured, and ends with the table of our times and theirs.
source=$(cd "${DTSIM_TEST_SOURCE:-$(dirname "$0")/..}" && pwd) || exit
stub=$source/tests/stub-cuda
room=$(mktemp -d) || exit
trap 'rm -rf "$room"' EXIT
cd "$room" || exit
unset MAKEFLAGS MFLAGS MAKELEVEL NVCC O
echo 1..4
check() { # NUMBER TITLE FINDINGS
    [ -z "$3" ] || sed 's/^/# /' <<<"$3"
    echo "$([ -z "$3" ] || echo "not ")ok $1 - $2"
}
mkdir bin
printf '#!/bin/sh\ncase "$*" in *compute_cap*) echo 9.0 ;; *name*) echo NVIDIA H100 80GB HBM3 ;; esac\n' >bin/nvidia-smi
chmod +x bin/nvidia-smi
objects=()
for unit in blas device dnn kernels nccl nvml; do
    ${CC:-cc} -std=gnu11 -g -I"$stub" -I"$source" -c "$stub/$unit.c" -o "stub-$unit.o" || exit
    objects+=("$room/stub-$unit.o")
done
on_device() { # OPTION...
    PATH=$room/bin:$PATH OUT=$room/out NVCC=no CUDNN_HEADERS=$stub/cudnn.h NCCL_HEADERS=$stub/nccl.h NCCL_LIBS='' \
        CUDA_CPPFLAGS="-I$stub -DCALIB_KERNELS" CUDA_LIBS=-rdynamic EXTRA_OBJECTS="${objects[*]}" \
        CFLAGS='-g -O1' "$source/calib/on-device.sh" "$@" >said 2>&1
}

BUDGET=6s on_device --only gemm,memory --dtypes bf16
status=$?
check 1 "measured, and nothing wrong found in it" "$(
    [ "$status" = 0 ] || { echo "status $status"; tail -n 5 said; }
    [ -s out/system/gemm.tsv ] && [ -s out/system/system.conf ] || ls -R out
    tail -n 1 out/check | grep -q '^[0-9]* rows; findings: 0 wrong' || tail -n 5 out/check
    diff said out/log)"
check 2 "beside the machine that ships with this GPU" "$(
    grep -q '^A: .*, B: dgx-h100$' out/diff || head -n 3 out/diff
    awk '/ bf16 forward / && sub(/.*forward */, "") { n = $1 } END { if (n < 200) print n + 0 " rows of both" }' out/diff)"
# The last line is the spread of all ratios; those above it are ours, theirs and the ratio of some rows.
check 3 "the log ends with ours, theirs and their ratio" "$(
    tail -n 1 out/log | grep -q '^# ours over theirs, [0-9]* rows: median [01]\.[0-9]*, ' || tail -n 3 out/log
    awk '$1 == "#" && $2 == "bf16" && NF == 10 {
            n++
            if ($8 / $9 / $10 > 1.001 || $8 / $9 / $10 < 0.999) print
        }
        END { if (n < 35 || n > 40) print n + 0 " rows in the table" }' out/log)"

DTSIM_STUB_GPUS=0 on_device
status=$?
check 4 "no GPU: status 77, and nothing is compared" "$(
    [ "$status" = 77 ] || echo "status $status"
    grep -q 'no GPU: no CUDA-capable device' said || cat said
    ! grep -q '# compare' said || echo "compared")"
