#!/bin/bash
# Published collectives: sizes between those that were fitted, more nodes than were fitted, and as shipped.
runs="${DTSIM_TEST_SOURCE:-$(dirname "$0")/..}/traces/network/nccl.csv"
table=$(dtsim validate "$runs" --only network --format tsv) || exit 1
echo 1..4
# columns: source gpu collective broken_fabric largest_nodes, then n median p90 bias of sizes, nodes, first_nodes, shipped
value() { # source, column
    awk -F'\t' -v source="$1" -v column="$2" '$1 == source { print $column + 0 }' <<<"$table"
}
check() { # number, what, condition
    if awk "BEGIN { exit !($3) }"; then echo "ok $1 - $2"; else echo "not ok $1 - $2"; fi
}
alps=boeschf/nccl-benchmark-on-alps-2025
between=$(value $alps 7) more=$(value $alps 11) nodes=$(value $alps 5)
dgx=$(value NVIDIA/dgxc-benchmarking 19) oci=$(value oracle-quickstart/oci-hpc 19)
check 1 "between sizes, at a quarter of them: median $between, at most 0.15" "$between > 0 && $between <= 0.15"
check 2 "from 32 nodes to $nodes: median $more, at most 0.20" "$nodes == 128 && $more > 0 && $more <= 0.20"
check 3 "a DGX H100 as shipped: median $dgx, at most 0.15" "$dgx > 0 && $dgx <= 0.15"
check 4 "two H100 nodes as shipped: median $oci, at most 0.10" "$oci > 0 && $oci <= 0.10"
