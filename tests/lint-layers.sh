#!/bin/bash
# A file includes its own folder and those above it in src/LAYERS; a public name begins with its folder.
cd "${DTSIM_TEST_SOURCE:-$(dirname "$0")/..}" || exit
echo 1..2
grep -Hn '^#include "[a-z]*/' src/*/*.[ch] /dev/null 2>/dev/null | awk -F'[/:"]' '
    BEGIN { while ((getline layer < "src/LAYERS") > 0) rank[layer] = ++n }
    !($2 in rank) || !($6 in rank) || rank[$6] > rank[$2] { print "# " $0; bad = 1 }
    END { print (bad ? "not " : "") "ok 1 - a layer includes no layer below it in src/LAYERS" }'
strange=$(for folder in src/*/; do
    layer=$(basename "$folder")
    grep -nHE "^[a-z_]+\(" "$folder"*.c /dev/null 2>/dev/null | grep -v ":main(" |
        while IFS=: read -r file line name; do
            sed -n "$((line - 1))p" "$file" | grep -q '^static' && continue
            [[ $name == ${layer}_* || ($layer == units && $name == why_*) ]] ||
                echo "# $file:$line: $name"
        done
done)
[ -z "$strange" ] || echo "$strange"
echo "$([ -z "$strange" ] || echo "not ")ok 2 - the folder is the prefix of its public functions"
