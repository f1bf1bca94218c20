#!/bin/bash
# The calibrator as several processes, on GPUs that compute nothing and a stub of NCCL whose ranks meet over all processes:
# they find each other, share out GPUs, measure together, and end together.
source=$(cd "${DTSIM_TEST_SOURCE:-$(dirname "$0")/..}" && pwd) || exit
stub=$source/tests/stub-cuda
room=$(mktemp -d) || exit
trap 'rm -rf "$room"' EXIT
cd "$room" || exit
unset MAKEFLAGS MFLAGS MAKELEVEL RANK WORLD_SIZE SLURM_STEP_ID SLURM_PROCID OMPI_COMM_WORLD_SIZE PMI_SIZE
export TMPDIR=$room
check() { # NUMBER TITLE FINDINGS
    [ -z "$3" ] || sed 's/^/# /' <<<"$3"
    echo "$([ -z "$3" ] || echo "not ")ok $1 - $2"
}

build() { # FOLDER MAKE-ARGUMENT...
    local unit objects=() folder=$1
    shift
    mkdir -p "$folder"
    for unit in blas device dnn kernels nccl nvml; do
        ${CC:-cc} -std=gnu11 -Wall -Wextra -Werror -g -I"$stub" -I"$source" -c "$stub/$unit.c" \
            -o "$folder/stub-$unit.o" || return
        objects+=("$room/$folder/stub-$unit.o")
    done
    "${MAKE:-make}" -s -C "$source/calib" -f calib.mk O="$room/$folder" NVCC=no CC="${CC:-cc}" \
        CUDNN_HEADERS="$stub/cudnn.h" NCCL_HEADERS="$stub/nccl.h" NCCL_LIBS= \
        CUDA_CPPFLAGS="-I$stub -DCALIB_KERNELS" CUDA_LIBS=-rdynamic EXTRA_OBJECTS="${objects[*]}" \
        CFLAGS='-g -O1' "$@"
}
echo 1..9
if ! log=$(build build 2>&1); then
    sed 's/^/# /' <<<"$log"
    echo "Bail out! the calibrator does not build"
    exit 1
fi
export DTSIM_STUB_GPUS=4
budget=2s only=collective,overlap program=build/dtsim-calibrate
calibrate() { timeout 120 build/dtsim-calibrate --budget $budget "$@"; }

# ENOUGH COMMAND...: on a busy machine two seconds are too few to get to what is to be seen, and more are given
until_enough() {
    local enough=$1
    shift
    for budget in 2s 15s 60s; do
        "$@"
        ! $enough || break
    done
}
has_groups() { awk -F'\t' '$3 == 2 { two = 1 } $3 == 4 { four = 1 } END { exit !(two && four) }' out/collective.tsv; }
has_ended_early() { ! grep -qx 'status 0' said.0; }

# WORLD RANK VARIABLE=VALUE: all ranks at once, one of them with a variable set; logs and statuses in said.RANK
ranks() {
    local rank pids=()
    rm -rf out said.* pid.*
    for ((rank = 0; rank < $1; rank++)); do
        (
            [ "$rank" != "$2" ] || export "$3"
            $program --budget $budget -o out --only $only --rank $rank \
                --world "$1" --rendezvous meet >said.$rank 2>&1 &
            echo $! >pid.$rank
            wait $! 2>/dev/null
            echo "status $?" >>said.$rank
        ) &
        pids+=($!)
    done
    wait "${pids[@]}"
}
all_say() { # WORLD TEXT STATUS
    local rank
    for ((rank = 0; rank < $1; rank++)); do
        grep -qF -- "$2" said.$rank || { echo "rank $rank:"; tr '\r' '\n' <said.$rank | tail -n 2; }
        grep -qx "status $3" said.$rank || { echo "rank $rank:"; tail -n 1 said.$rank; }
        grep '^stub:' said.$rank
    done
}

# The stub's NCCL takes 20 us and its bytes at 300 GB/s.
table_is_right() {
    awk -F'\t' '/^#/ || $1 == "op" { next }
        $1 == "all_reduce" || $1 == "all_gather" || $1 == "reduce_scatter" || $1 == "broadcast" {
            us = 20 + $5 / 3e5; n[$3]++
            if ($6 < us * 0.99 || $6 > us * 1.01) print }
        END { if (!n[2] || !n[4]) print "no rows of 2, or of 4 ranks" }' out/collective.tsv | head -n 3
}

alone() {
    rm -rf out
    calibrate -o out --only collective,overlap >said.0 2>&1
    echo "status $?" >>said.0
}
until_enough has_groups alone
check 1 "one process drives four GPUs" "$(all_say 1 '' 0; table_is_right)"

until_enough has_groups ranks 4 -1
check 2 "one process a GPU" "$(all_say 4 '' 0; table_is_right)"

until_enough has_groups ranks 2 -1
check 3 "two processes of two GPUs each; nothing is left of their meeting" "$(all_say 2 '' 0; table_is_right
    [ ! -e meet ] || echo "meet is still there")"

export DTSIM_STUB_NCCL=21000
until_enough has_groups ranks 2 -1
unset DTSIM_STUB_NCCL
check 4 "an NCCL that cannot split groups" "$(all_say 2 '' 0; table_is_right)"

until_enough has_ended_early ranks 4 2 DTSIM_STUB_FAIL=ncclAllReduce:40:1
check 5 "a call that fails on one rank is named by all, and ends all; rows are kept" "$(
    all_say 4 'rank 2: ncclAllReduce: a failure that was asked for (nccl_traffic.c:' 1
    ls out/*.part >/dev/null 2>&1 || echo "no rows were kept")"

# Rank 3 is killed as soon as there are rows: the others wait for it in NCCL, or for its vote.
lose() {
    rm -rf out pid.*
    (
        for ((i = 0; i < 1200; i++)); do
            [ -s out/collective.tsv.part ] && break
            sleep 0.05
        done
        read -r pid <pid.3 && kill -KILL "$pid"
    ) 2>/dev/null &
    ranks 4 -1
}
until_enough has_ended_early lose
check 6 "a rank that dies is named by all others, and ends them; rows are kept" "$(
    sed -i 's/^status 137$/rank 3 is lost\nstatus 1/' said.3
    all_say 4 'rank 3 is lost' 1
    ls out/*.part >/dev/null 2>&1 || echo "no rows were kept")"

only=memory
ranks 4 0 DTSIM_STUB_FAIL=cudaLaunchHostFunc:40:13
check 7 "what fails on rank 0 alone ends all, too" "$(
    all_say 4 'rank 0: cudaLaunchHostFunc: a failure that was asked for (cuda_timing.c:' 1)"

# Two seconds of patience instead of five minutes.
cp -r build hang
rm hang/cuda_backend.o
if log=$(build hang CPPFLAGS=-DCALIB_PATIENCE_S=2 2>&1); then
    program=hang/dtsim-calibrate
    budget=60s
    ranks 4 0 DTSIM_STUB_HANG=cudaStreamSynchronize:40
fi
check 8 "a GPU of rank 0 that does not answer ends all, too" "$(
    all_say 4 "nothing came of rank 0's GPU 0 in 2 s" 1
    ls out/*.part >/dev/null 2>&1 || echo "no rows were kept")"

if ! command -v mpirun >/dev/null || ! command -v mpicc >/dev/null; then
    echo "ok 9 - below mpirun # SKIP mpirun or mpicc is not installed"
    exit
fi
below_mpirun() {
    rm -rf out
    log=$(mpirun --allow-run-as-root --oversubscribe -np 4 mpi/dtsim-calibrate --budget $budget -o out \
        --only collective 2>&1)
    status=$?
}
if log=$(build mpi MPI=1 2>&1); then
    until_enough has_groups below_mpirun
else
    status=build
fi
check 9 "below mpirun; an MPI that does not find the others is no run" "$(
    [ "$status" = 0 ] || { echo "status $status"; tail -n 3 <<<"$log"; }
    table_is_right
    said=$(PMI_RANK=1 PMI_SIZE=4 timeout 60 mpi/dtsim-calibrate -o alone 2>&1)
    [[ $? = 1 && $said == *'each of 4 processes is alone'* && ! -e alone ]] || echo "$said")"
