#!/bin/bash
# Measured data say in their first lines where they come from.
cd "${DTSIM_TEST_SOURCE:-$(dirname "$0")/..}" || exit
echo 1..2
mapfile -t files < <(find traces calib/systems -name '*.tsv' -o -name '*.conf' | LC_ALL=C sort)
bad=$(for file in "${files[@]}"; do [ "$(head -c 1 "$file")" = "#" ] || echo "# $file"; done)
[ -z "$bad" ] || echo "$bad"
echo "$([ -z "$bad" ] || echo "not ")ok 1 - data files begin with a comment"
bad=$(for file in "${files[@]}"; do
    [[ $file != *.tsv ]] || sed '/^[^#]/q' "$file" | grep -qiE '^#.*(source|https?:|measured)' || echo "# $file"
done)
[ -z "$bad" ] || echo "$bad"
echo "$([ -z "$bad" ] || echo "not ")ok 2 - tables name their source or measurement"
