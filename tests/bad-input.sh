#!/bin/bash
# What a user gets wrong is told in one line on standard error that starts with "dtsim: ", with exit status 2,
# nothing on standard output, and no file left behind.
set -u
if ! command -v dtsim >/dev/null; then
    echo "1..0 # SKIP dtsim is not built here"
    exit 0
fi
source_dir=${DTSIM_TEST_SOURCE:-$(cd "$(dirname "$0")/.." && pwd)}
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
mkdir "$room/in" "$room/work" && cd "$room/in" || exit 1

# Inputs that are wrong in one way each.
mkdir folder no-unit nan negative binary-system twice
a100=$source_dir/calib/systems/dgx-a100-80g/system.conf
sed 's/^memory-rate = .*/memory-rate = 1555/' "$a100" >no-unit/system.conf
sed 's/^memory-rate = .*/memory-rate = NaN/' "$a100" >nan/system.conf
sed 's/^memory = .*/memory = -80GB/' "$a100" >negative/system.conf
sed 's/^\(memory = .*\)/\1\n\1/' "$a100" >twice/system.conf
printf '\000\001\377\376binary\000' | tee binary.json binary.csv >binary-system/system.conf
printf '{"model_type": "llama", "hidden_size": 40' >truncated.json
printf '[1, 2, 3]\n' >array.json
printf '{"model_type": "llama", "hidden_size": "wide"}\n' >type.json
printf '{"model_type": "mixtral", "num_local_experts": 8}\n' >experts.json
printf 'id,gpu\na,b\n' >missing-column.csv
: >empty.csv
header=id,gpu,gpus,layers,hidden,heads,seq_len,vocab,tp,pp,dp,micro_batch,global_batch,iter_s_any
printf '%s\na,A100,8,many,1024,16,1024,50257,1,1,8,1,8,1\n' $header >number.csv
printf '%s\na,A100,8\n' $header >short-row.csv
printf '%s\na,Abacus,8,24,1024,16,1024,50257,1,1,8,1,8,1\n' $header >no-gpu.csv
printf '0F0,0Q0\n' >letter.csv
printf '0F0\n' >half.csv
printf '0F0,0B0\n1F0,1B0\n' >two-ranks.csv
touch unwritable && chmod a-w unwritable
cd "$room/work" && ln -s ../in/* . || exit 1

n=0
# told WORDS...: the words are dtsim's arguments
told() {
    n=$((n + 1))
    local before after status lines findings=
    before=$(ls -A)
    dtsim "$@" >"$room/out" 2>"$room/err" </dev/null
    status=$?
    after=$(ls -A)
    lines=$(wc -l <"$room/err")
    [ $status = 2 ] || findings+="exit status $status, expected 2"$'\n'
    [ "$lines" = 1 ] || findings+="$lines lines on standard error, expected 1"$'\n'
    head -c 7 "$room/err" | grep -q '^dtsim: ' || findings+="does not start with 'dtsim: '"$'\n'
    [ ! -s "$room/out" ] || findings+="something on standard output"$'\n'
    [ "$before" = "$after" ] || findings+="files left behind: $(diff <(echo "$before") <(echo "$after"))"$'\n'
    if [ -z "$findings" ]; then
        echo "ok $n - dtsim ${*@Q}: $(sed 's/^dtsim: //; s/#/ /g' "$room/err" | cut -c 1-120)"
    else
        echo "not ok $n - dtsim ${*@Q}"
        { printf '%s' "$findings"; cat "$room/err"; } | sed 's/^/# /'
    fi
}

# commands and options
told rnu
told nosuch --tp 8
told help nosuch
told help run word
told --version word
told --bogus
told --tpp 8
told -q
told run word
told run one two
told models one two
told explain word
told --tp
told --format xml
told --format ''
told --set
told --set gpu
told --set gpu.memory
told --set .=
# numbers
told --tp 4x
told --tp ''
told --tp=
told --tp 0
told --tp -8
told --tp 1.5
told --tp 0x8
told --tp ' 8'
told --tp 99999999999999999999
told --micro-batch-size -1
told --global-batch-size 0
told --seq-length 9223372036854775808
told --recompute everything
told --attention flsh
told --dtype bf61
told --grad-dtype fp64
told --p2p pigeon
told --ranks some
told --flops none
told --zero 4
told --framework megatrn
told --fsdp --zero 1
told --framework fsdp --zero 2
told --framework deepspeed --pp 2 --zero 2
told --shard-size 3
told --zero 0 --shard-size 1
told --grad-reduce each
told --zero 3 --bucketing all
told --cp 3
told --cp 2 --attention unfused
told --cp 2 --cp-comm-type a2a+p2p
told --cp 4 --cp-comm-type a2a+p2p --cp-inner 3
told --ep 2
told --etp 0
told --model mixtral-8x7b --ep 3
told --model mixtral-8x7b --ep 8 --tp 8
told --model mixtral-8x7b --gpus 8 --ep 8 --expert-histogram 1,2
told --model mixtral-8x7b --gpus 8 --ep 8 --expert-imbalance -1
told --model mixtral-8x7b --gpus 8 --ep 8 --moe-pad-to-capacity
told --model mixtral-8x7b --gpus 8 --delay-wgrad
told --optimizer adamm
told --moment-bytes 3
told --dtype fp16 --master-remainder
told --fsdp --master-remainder
told --fp8-param-gather
told --recompute full --recompute-modules mlp
told --recompute-modules mlq
told --recompute selective --recompute-modules act,second_gemm
told --recompute full --recompute-layers 97
told --recompute full --recompute-method block --recompute-stages x
told --offload-params cpu
told --offload-optimizer nvme
told --offload-fraction 0.5
told --fragmentation 2
told --fragmentation -0.1
told --framework ''
told --cp 8 --model llama3-8b --gpus 8 --seq-length 8200
told --cp 16 --cp-comm-type a2a --model llama3-8b --gpus 16
told --shard-size 3 --fsdp --model llama3-8b --gpus 8
told --model mixtral-8x7b --gpus 8 --etp 3
told --model mixtral-8x7b --gpus 8 --ep 7
told --model mixtral-8x7b --gpus 8 --moe-dispatcher pigeon
told --model mixtral-8x7b --gpus 8 --moe-capacity-factor -1
told --model llama3-8b --gpus 8 --moe-capacity-factor 1
told --model mixtral-8x7b --gpus 8 --expert-imbalance 1e30
told --model mixtral-8x7b --gpus 8 --expert-histogram 1,1,-1,1,1,1,1,1
told --model mixtral-8x7b --gpus 8 --expert-histogram 0,0,0,0,0,0,0,0
told --model mixtral-8x7b --gpus 8 --expert-histogram 1e300,1,1,1,1,1,1,1
told --model mixtral-8x7b --gpus 8 --expert-histogram ''
told --model llama3-8b --gpus 8 --fp8-dispatch
told --offload-optimizer cpu --offload-fraction 1.5
told --offload-optimizer tape
told --offload-activations 97
told --fsdp --unit-layers 0
told --recompute selective --recompute-modules ''
told --recompute full --recompute-microbatches 0
told --recompute full --recompute-method block --recompute-stages 1,2
told --seed -1
told --clip nan
told --clip -1
# plans that cannot be
told --tp 7
told --gpus 7 --tp 8
told --gpus 8 --dp 3
told --nodes 2 --gpus 8
told --pp 5
told --vpp 2
told --pp 8 --vpp 5
told --global-batch-size 7 --micro-batch-size 2
told --microbatches 3 --global-batch-size 8
told --seq-length 1000000
told --stage-layers 1,2
told --pp 2 --stage-layers a,b
told --pp 2 --first-stage-layers 96
# models
told --model nosuch
told --model ''
told --model nosuch.json
told --model folder
told --model truncated.json
told --model array.json
told --model type.json
told --model experts.json
told --model binary.json
told --set model.n_layer=9223372036854775808
told --set model.n_layer=-3
told --set model.n_layer=few
told --set model.nosuch=1
told models nosuch
# systems
told --system nosuch
told --system ''
told --system folder/
told --system no-unit
told --system nan
told --system negative
told --system twice
told --system binary-system
told --set gpu.memory=40
told --set gpu.memory=-40GB
told --set gpu.memory=99999999999999GB
told --set gpu.nosuch=40GB
told --set nosuch.memory=40GB
told --set nic.efficiency=200%
told systems nosuch
# output
told --microbatches 2 -o folder
told --microbatches 2 -o nosuch/out.txt
told --microbatches 2 -o /dev/full
told --microbatches 2 -o ''
told --microbatches 2 --trace nosuch/trace.json
told --microbatches 2 --trace folder
told --microbatches 2 --trace ''
told --microbatches 2 --trace /dev/full
told --plot picture.pdf
told --microbatches 2 --plot nosuch/picture.svg
told memory --timeline ''
told memory --timeline nosuch/line.tsv
told memory --timeline folder
told memory --timeline /dev/full
told memory --plot picture.pdf
told memory --plot nosuch/picture.svg
told memory --timeline line.tsv --rank 99
told memory --timeline line.tsv --rank -1
told memory --rank 0
# schedules
told --schedule nosuch
told --schedule ''
told --schedule nosuch.csv
told --schedule letter.csv
told --schedule half.csv
told --schedule binary.csv
told --schedule interleaved
told schedules --schedule two-ranks.csv --pp 4
told schedules --schedule two-ranks.csv --microbatches 2
told schedules --schedule two-ranks.csv --vpp 2
told schedules --schedule two-ranks.csv --unit F=1 --pp 4
told schedules --schedule two-ranks.csv --unit F=1 --microbatches 2
told schedules --schedule two-ranks.csv --unit F=1 --vpp 2
told schedules --schedule 1f1b,two-ranks.csv --unit F=1 --pp 4 --microbatches 1
told run --schedule two-ranks.csv --pp 4
told schedules --pp 4 --unit F=1
told schedules --pp 0 --microbatches 4
told schedules --pp 4 --microbatches 4 --unit F=x
told schedules --pp 4 --microbatches 4 --unit Q=1
told schedules --pp 4 --microbatches 4 --unit ''
told schedules --pp 4 --microbatches 4 --unit F=1,F=2
told schedules --pp 4 --microbatches 4 --unit F=1/0
told schedules --pp 4 --microbatches 4 --unit F=nan
told schedules --pp 4 --microbatches 4 --unit F=-1
told schedules --pp 4 --microbatches 4 --unit F=1e400
told schedules --pp 4 --microbatches 4 --unit F=0,B=0
told schedules --pp 4 --microbatches 4 --unit I=1,W=1,B=2
told schedules --pp 4 --microbatches 4 --schedule interleaved --unit F=1
told schedules --pp 4 --microbatches 4 --schedule interleaved --vpp 1
told schedules --pp 4 --microbatches 4 --schedule 1f1b,nosuch
told schedules --pp 4 --microbatches 4 --schedule ,
told schedules --pp 4 --microbatches 4 --unit F=1,pair=0
told schedules --pp 4 --microbatches 4 --unit F=1 --tp 2
told schedules --pp 4 --microbatches 4 --unit F=1 --placement v
told schedules --pp 4 --microbatches 4 --sort size
told schedules --pp 4 --microbatches 4 --unit F=1 --plot x.pdf
told schedules --pp 4 --microbatches 4 --schedule nosuch.csv
told schedules --pp 4 --microbatches 4 --dump-comms out.csv
told schedules --schedule 1f1b --placement loop
told sweep --schedule 1f1b,nosuch
told run --optimizer-barrier never
told run --pp 2 --pipeline-layout t*3
told run --placement loop
told run --pp 2 --schedule order.csv --group 2
told schedules --pp 4 --microbatches 4 --dump-schedule out.csv
told schedules --pp 4 --microbatches 4 --schedule 1f1b --dump-schedule nosuch/out.csv
told schedules --pp 1000000 --microbatches 1000000
# sweeps
told sweep
told sweep --tp 1..
told sweep --tp 8..1
told sweep --tp 1,,2
told sweep --tp 1,x
told sweep --tp 7,9
told sweep --tp 1,2 --pp 1,2 --dp 1,2 --micro-batch-size 1,2
told sweep --microbatches 1..99999999
told sweep --microbatches '1..64*1'
told sweep --microbatches 1..64:0
told sweep --microbatches 1,2 --plot picture.pdf
told sweep --microbatches 1,2 --plot-quantity nosuch
told sweep --microbatches 1,2 --plot-quantity mfu
told sweep --tp ..8
told run --tp 1,2
# measured runs
told validate
told validate nosuch.csv
told validate folder
told validate empty.csv
told validate missing-column.csv
told validate number.csv
told validate short-row.csv
told validate no-gpu.csv
told validate binary.csv
told validate --tolerance much number.csv
told validate --tolerance -5% number.csv
told validate --only much number.csv
told validate --where gpu number.csv
told validate --where nosuch=1 number.csv

# Standard output that has no room is an error, too.
n=$((n + 1))
if dtsim --version >/dev/full 2>"$room/err"; then
    echo "not ok $n - dtsim --version into a full device (exit status 0)"
elif grep -q '^dtsim: standard output: ' "$room/err"; then
    echo "ok $n - dtsim --version into a full device"
else
    echo "not ok $n - dtsim --version into a full device"
fi
# A plan that does not fit is reported whole, and the answer is no.
n=$((n + 1))
dtsim memory --tp 1 >"$room/out" 2>"$room/err"
if [ $? = 1 ] && [ -s "$room/out" ] && [ ! -s "$room/err" ]; then
    echo "ok $n - a plan that does not fit: exit status 1, with the report"
else
    echo "not ok $n - a plan that does not fit: exit status 1, with the report"
fi
echo "1..$n"
