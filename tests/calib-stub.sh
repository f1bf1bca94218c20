#!/bin/bash
# The calibrator, all of it but its kernels, built against stub headers and run on a GPU that computes nothing: its
# control flow, its buffers' bounds, what it writes, and each call's failure.
source=$(cd "${DTSIM_TEST_SOURCE:-$(dirname "$0")/..}" && pwd) || exit
stub=$source/tests/stub-cuda
room=$(mktemp -d) || exit
trap 'rm -rf "$room"' EXIT
cd "$room" || exit
unset MAKEFLAGS MFLAGS MAKELEVEL
echo 1..12
check() { # NUMBER TITLE FINDINGS
    [ -z "$3" ] || sed 's/^/# /' <<<"$3"
    echo "$([ -z "$3" ] || echo "not ")ok $1 - $2"
}

build() {
    local unit objects=()
    mkdir build
    for unit in blas device dnn kernels nccl nvml; do
        ${CC:-cc} -std=gnu11 -Wall -Wextra -Werror -g -I"$stub" -I"$source" -c "$stub/$unit.c" \
            -o "build/stub-$unit.o" || return
        objects+=("$room/build/stub-$unit.o")
    done
    "${MAKE:-make}" -s -C "$source/calib" -f calib.mk O="$room/build" NVCC=no CC="${CC:-cc}" \
        CUDNN_HEADERS="$stub/cudnn.h" NCCL_HEADERS="$stub/nccl.h" NCCL_LIBS= \
        CUDA_CPPFLAGS="-I$stub -DCALIB_KERNELS" CUDA_LIBS=-rdynamic EXTRA_OBJECTS="${objects[*]}" \
        CFLAGS='-g -O1'
}
if ! log=$(build 2>&1); then
    check 1 "builds without CUDA" "$log"
    echo "Bail out! the calibrator does not build"
    exit 1
fi
check 1 "builds without CUDA" "$(grep -F warning: <<<"$log")"
calibrate() { timeout 60 build/dtsim-calibrate "$@"; }

# FILE BODY END: awk over a table's rows, and after them
rows() { awk -F'\t' "!/^#/ && !/\tflag\$/ { $2 } END { $3 }" "$1" 2>&1 | head -n 5; }

said=$(DTSIM_STUB_GPUS=0 calibrate -o none 2>&1)
status=$?
check 2 "no GPU: one line, status 77, nothing written" "$(
    [ "$status" = 77 ] || echo "status $status"
    [ "$said" = "dtsim-calibrate: no GPU: no CUDA-capable device is detected" ] || echo "$said"
    [ ! -e none ] || echo "none was written")"

cat >shapes <<'TEXT'
gemm	bf16	forward	8192	8192	8192	1	1
gemm	bf16	dgrad	8192	4096	1024	1	1
gemm	bf16	wgrad	4096	1024	8192	1	1
gemm	bf16	forward	1024	128	512	24	1
gemm	fp8	wgrad	4096	4096	4096	1	1
gemm	tf32	dgrad	1024	2048	4096	1	1
gemm	bf16	forward	4099	512	1024	1	4
gemm	bf16	wgrad	512	1024	3	1	4
attention	bf16	2	16	4	128	2048	1
attention	fp16	2	16	16	64	1024	0
TEXT
for kernel in copy norm norm_backward softmax softmax_backward activation activation_backward add dropout rope \
    embedding embedding_backward cross_entropy cross_entropy_backward adam reduce permute cast; do
    printf 'memory\t%s\t67108864\n' $kernel >>shapes
done
said=$(DTSIM_STUB_GPUS=2 DTSIM_STUB_TRACE=$room/calls calibrate -o all --shapes shapes --budget 4s \
    --only gemm,memory,attention 2>&1)
status=$?
check 3 "a run to its end: status 0, nothing left behind" "$(
    [ "$status" = 0 ] || { echo "status $status"; tail -n 5 <<<"$said"; }
    grep '^stub:' <<<"$said")"

# The GPU's times (tests/stub-cuda/device.h), plus or minus half a percent of chance.
check 4 "GEMMs take 2.5 us and their operations at 700 TFLOPS or bytes at 3 TB/s: a sample was divided by its calls" "$(
    rows all/gemm.tsv '
        rate = $1 == "fp8" ? 2 : $1 == "tf32" ? 0.5 : $1 == "fp32" ? 0.0625 : 1
        each = $1 == "fp8" ? 1 : $1 == "tf32" || $1 == "fp32" ? 4 : 2
        sum = $7 == "wgrad" ? 8 : each > 2 ? 4 : 2
        compute = 2 * $2 * $3 * $4 * $5 / (rate * 7e8)
        move = $5 * (($2 * $4 + $4 * $3) * each + $2 * $3 * sum) / 3e6
        us = 2.5 + (compute > move ? compute : move)
        n++
        if ($6 < us * 0.994 || $6 > us * 1.006) print' 'if (n < 100) print n " rows only"')"
check 5 "kernels take 2.5 us and their bytes at 3 TB/s; every kernel has rows" "$(
    rows all/memory.tsv '
        us = 2.5 + $2 / 3e6
        seen[$1]++
        if ($3 < us * 0.95 || $3 > us * 1.006 || $2 == 67108864 && $3 < us * 0.99) print' '
        for (k in seen) n++
        if (n != 18) print n " kernels"'
    rows all/device.tsv '
        rate = $1 == "p2p" ? 4e5 : 5e4
        us = 2.5 + $2 / rate
        if ($1 ~ /^(h2d|d2h|p2p)$/ && ($3 < us * 0.994 || $3 > us * 1.006)) print
        if ($1 == "launch" && ($3 < 2.48 || $3 > 2.52) || $1 == "event" && $3 != 0) print
        seen[$1]++' '
        for (k in seen) n++
        if (n != 7) print n " kinds of rows in device.tsv"')"
check 6 "the machine as CUDA, NVML and the run describe it" "$(
    for line in '# driver: 580.65.06' '# cublas: 13.0.1' 'nvlink-rate = 450GBps' 'gpus = 2' \
        'link = nvswitch' 'sms = 132' 'l2 = 52428800B' 'kernel-floor = 2.5' \
        '# clocks: 1755 MHz on average while kernels ran, 1755 at least; slowed by the power limit at 100 %'; do
        grep -qF -- "$line" all/system.conf || echo "no $line"
    done)"

# Of attributes that drivers need not tell, and of what is freed at the end, no one is told.
quiet=' ncclGetVersion cudaDeviceGetAttribute cudaFree cudaFreeHost cudaEventDestroy cudaStreamDestroy cublasLtMatmulAlgoGetHeuristic cublasLtMatmul '
check 7 "each call that fails is named, in one line, with status 1" "$(
    while read -r call; do
        [[ $quiet != *" $call "* ]] || continue
        rm -rf failed
        DTSIM_STUB_GPUS=2 DTSIM_STUB_FAIL=$call:1:13 calibrate -o failed --budget 4s \
            --shapes shapes --only gemm,memory,attention >log 2>&1
        status=$?
        wanted="1 dtsim-calibrate: rank 0: $call: a failure that was asked for ("
        [ "$call" != cudaGetDeviceCount ] || wanted="77 dtsim-calibrate: no GPU: a failure that was asked for"
        said="$status $(tr '\r' '\n' <log | tail -n 1)"
        [[ $said == "$wanted"* ]] || echo "$call: $said"
    done <calls
    [ "$(wc -l <calls)" -gt 35 ] || echo "only $(wc -l <calls) functions were called")"

status=$(DTSIM_STUB_MEMORY=1200000000 DTSIM_STUB_CUDNN=90500 calibrate -o small --budget 1s --only attention >log 2>&1; echo $?)
check 8 "unfused where cuDNN is too old; what does not fit is left out, and its table says why" "$(
    [ "$status" = 0 ] || { echo "status $status"; tail -n 3 log; }
    grep -q '^# attention: unfused' small/attention.tsv || echo "fused by an old cuDNN"
    grep -q '^# left out: .*cudaMalloc: out of memory' small/*.tsv || echo "no table says so"
    grep '^stub:' log)"

DTSIM_STUB_FAIL=cublasLtMatmul:3:15 calibrate -o second --only gemm --budget 1s >log 2>&1
one=$?
DTSIM_STUB_FAIL=cublasLtMatmulAlgoGetHeuristic:2:15 calibrate -o third --only gemm --budget 1s >>log 2>&1
two=$?
check 9 "a kernel that cuBLASLt refuses is followed by the next, or by cuBLAS" "$(
    [ "$one$two" = 00 ] || { echo "status $one, $two"; tail -n 3 log; })"

check 10 "fused attention takes 2.5 us and its products at 700 TFLOPS: two forward, five backward" "$(
    grep -q '^# attention: cuDNN 9.19.0 fused' all/attention.tsv || echo "no fused attention"
    rows all/attention.tsv '
        us = 4 * $2 * $3 * $6 * $6 * $5 / 7e8
        n++
        if ($8 < (us + 2.5) * 0.994 || $8 > (us + 2.5) * 1.006) print
        if ($9 < (2.5 * us + 2.5) * 0.994 || $9 > (2.5 * us + 2.5) * 1.006) print' \
        'if (n < 10) print n " rows only"')"

said=$(DTSIM_STUB_GPUS=4 DTSIM_STUB_OTHER=2 calibrate -o mixed 2>&1)
status=$?
check 11 "GPUs of two kinds are refused, with what to do" "$(
    [ "$status" = 1 ] && [[ $said == *"GPU 0 is a NVIDIA H100 80GB HBM3, GPU 2 a NVIDIA T400; show those of one kind"* ]] ||
        echo "status $status: $said"
    [ ! -e mixed ] || echo "mixed was written")"

DTSIM_STUB_GPUS=2 DTSIM_STUB_NVML=no DTSIM_STUB_FAIL=cudaDeviceEnablePeerAccess:1:46 \
    calibrate -o container --only memory --budget 4s >log 2>&1
status=$?
check 12 "without NVML, and another process' GPU out of reach: rows are left out, links are what copies show" "$(
    [ "$status" = 0 ] || { echo "status $status"; tail -n 3 log; }
    grep -q '^# left out: 1, the first .*cudaDeviceEnablePeerAccess' container/device.tsv || echo "no table says so"
    for line in '# driver: none' '# clocks: not looked at' '# measured: faster than PCIe' 'link = mesh'; do
        grep -qF -- "$line" container/system.conf || echo "no $line"
    done)"
