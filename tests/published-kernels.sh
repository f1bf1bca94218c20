#!/bin/bash
# Published GEMMs and attention: the model of a fifth of the rows predicts the others better than simple predictors do.
folder="${DTSIM_TEST_SOURCE:-$(dirname "$0")/..}/traces/kernels"
table=$(dtsim validate --only kernels --sample 20% "$folder/gemm.csv" "$folder/attention.csv" --format tsv) || exit 1
echo 1..5
# columns: kind file source gpu dtype fitted long_n, then median p90 bias of model, roofline, nearest
check() { # number, kind, GPU, dtype, median and p90 at most
    awk -F'\t' -v n="$1" -v kind="$2" -v gpu="$3" -v dtype="$4" -v median="$5" -v p90="$6" '
        $1 == kind && $4 == gpu && $5 == dtype {
            found = 1
            good = $8 > 0 && $8 <= median && $9 <= p90 && $8 < $11 / 2 && $9 < $12 / 2 && $8 < $14 && $9 < $15
            print (good ? "ok " : "not ok ") n " - " kind " " gpu " " dtype ": median " $8 ", p90 " $9
        }
        END { if (!found) print "not ok " n " - " kind " " gpu " " dtype ": no such row" }' <<<"$table"
}
check 1 gemm A100-SXM-80 bf16 0.06 0.21
check 2 gemm H200-SXM bf16 0.06 0.19
check 3 gemm H200-SXM fp8 0.07 0.24
check 4 attention A100-SXM-80 bf16 0.03 0.06
check 5 attention H100-SXM-80 bf16 0.04 0.12
