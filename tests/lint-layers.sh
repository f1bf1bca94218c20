#!/bin/bash
# A file includes its own folder and those above it in src/LAYERS; a public name begins with its folder.
cd "${DTSIM_TEST_SOURCE:-$(dirname "$0")/..}" || exit
echo 1..2
grep -Hn '^#include "[a-z]*/' src/*/*.[ch] /dev/null 2>/dev/null | awk -F'[/:"]' '
    BEGIN { while ((getline layer < "src/LAYERS") > 0) rank[layer] = ++n }
    !($2 in rank) || !($6 in rank) || rank[$6] > rank[$2] { print "# " $0; bad = 1 }
    END { print (bad ? "not " : "") "ok 1 - a layer includes no layer below it in src/LAYERS" }'
strange=$(awk '
    FNR == 1 { split(FILENAME, part, "/"); layer = part[2]; before = "" }
    /^[a-z_]+\(/ && before !~ /^static/ && !/^main\(/ && index($0, layer "_") != 1 &&
        !(layer == "units" && /^why_/) { print "# " FILENAME ":" FNR ": " $0 }
    { before = $0 }' src/*/*.c)
[ -z "$strange" ] || echo "$strange"
echo "$([ -z "$strange" ] || echo "not ")ok 2 - the folder is the prefix of its public functions"
