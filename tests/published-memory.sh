#!/bin/bash
# Memory of published runs: most within a tenth of what was measured, and what ran fits.
runs="${DTSIM_TEST_SOURCE:-$(dirname "$0")/..}/traces/published/nanotron_h100.csv"
table=$(dtsim validate "$runs" --only memory --format tsv) || exit 1
echo 1..3
# columns: id source measured_s predicted_s error measured_peak_mem_GB predicted_peak_mem_GB fits measured_oom skipped
read -r rows simulated measured within right < <(awk -F'\t' 'NR > 1 {
    rows++
    if ($10 != "") next
    simulated++
    right += ($8 == "yes") != ($9 == "yes")
    if ($6 == "" || $7 == "") next
    measured++
    off = $7 / $6 - 1
    within += off <= 0.1 && off >= -0.1
} END { print rows + 0, simulated + 0, measured + 0, within + 0, right + 0 }' <<<"$table")
check() { # number, what, condition
    if (($3)); then echo "ok $1 - $2"; else echo "not ok $1 - $2"; fi
}
check 1 "all $rows rows are simulated: $simulated" "rows > 100 && simulated == rows"
check 2 "within 10 %: $within of $measured, at least four of five" "measured > 80 && within * 5 >= measured * 4"
check 3 "fits or not: $right of $simulated right, at least 95 %" "right * 100 >= simulated * 95"
