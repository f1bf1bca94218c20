#!/bin/bash
# Each long option of each command stands in the manual page and is completed.
cd "${DTSIM_TEST_SOURCE:-$(dirname "$0")/..}" || exit
if ! command -v dtsim >/dev/null || ! dtsim --help >/dev/null 2>&1; then
    echo "1..0 # SKIP dtsim is not built here"
    exit 0
fi
commands=$(dtsim --help | awk '/^Commands/ { inside = 1; next } inside && !NF { exit } inside { print $1 }')
options=$({ dtsim --help; for c in $commands; do dtsim "$c" --help; done; } |
    grep -oE -- '--[a-z][a-z0-9-]*' | LC_ALL=C sort -u)
# the manual page may write --[no-]x for two options
manual=$(sed 's/\\-/-/g; s/--\[no-\]\([a-z-]*\)/--\1 --no-\1/g' dtsim.1)
source completions/dtsim
check() { # NUMBER TITLE FINDINGS
    [ -z "$3" ] || sed 's/^/# /' <<<"$3"
    echo "$([ -z "$3" ] || echo "not ")ok $1 - $2"
}
missing() { # words of the first argument that are not in the second
    for word in $1; do grep -qE -- "(^|[^a-z-])$word([^a-z-]|\$)" <<<"$2" || echo "$word"; done
}
echo 1..4
check 1 "dtsim --help lists commands and options" "$([ -n "$commands" ] && [ -n "$options" ] || echo none)"
check 2 "each option stands in dtsim.1" "$(missing "$options" "$manual")"
check 3 "each command stands in dtsim.1" "$(missing "$commands" "$manual")"
completed=$(for c in "" $commands; do
    COMP_WORDS=(dtsim $c --) COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMPREPLY=()
    _dtsim 2>/dev/null
    printf '%s\n' "${COMPREPLY[@]}"
done)
check 4 "each option is completed" "$(missing "$options" "$completed")"
