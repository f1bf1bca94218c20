#!/bin/bash
# Names that say nothing, the classic error of bits for bytes, and words of unfinished work.
cd "${DTSIM_TEST_SOURCE:-$(dirname "$0")/..}" || exit
echo 1..4
check() { # NUMBER TITLE FINDINGS
    [ -z "$3" ] || sed 's/^/# /' <<<"$3"
    echo "$([ -z "$3" ] || echo "not ")ok $1 - $2"
}
check 1 "no file is called util, common, misc or helper" \
    "$(find src calib tests | grep -E '(^|[/_-])(util|utils|common|misc|helpers?)([._-]|$)')"
check 2 "rates are bytes per second: no identifier ends in bps" \
    "$(grep -rnE '\b[A-Za-z0-9_]*_bps\b' src calib tests --include='*.[ch]')"
check 3 "no unfinished work is left in the text" \
    "$(grep -rnE '\b(TODO|FIXME|XXX|HACK)\b' src calib plots tests --include='*.[ch]' --include='*.gp' --include='*.golden')"
check 4 "hash tables are not iterated (their order is no result)" \
    "$(grep -rnE 'g_hash_table_(foreach|iter_init|get_keys|get_values)' src --include='*.c')"
