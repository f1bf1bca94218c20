#!/bin/bash
# Runs a transcript: `$ command`, then `> line` for each line it prints (both streams), then `? N` for
# an exit status other than 0. A command line that ends in a backslash goes on in the next line. All
# other lines are prose. The commands run in one new folder, in which `data` is tests/data; then all
# of them run once more in another, and must print the same bytes.
# DTSIM_UPDATE_GOLDEN=1 writes what was printed into the transcript instead.
set -u
transcript=$(realpath "$1")
data=${DTSIM_TEST_DATA:-$(dirname "$(realpath "$0")")/data}
rooms=$(mktemp -d)
trap 'rm -rf "$rooms"' EXIT

commands=() expected=() statuses=()
n=0
while IFS= read -r line || [ -n "$line" ]; do
    case $line in
    '$ '*)
        command=${line#'$ '}
        while [[ $command == *\\ ]] && IFS= read -r line; do command+=$'\n'$line; done
        n=$((n + 1)) commands[n]=$command expected[n]= statuses[n]=0
        ;;
    '>' | '> '*) line=${line#>}; expected[n]+=${line# }$'\n' ;;
    '? '*) statuses[n]=${line#'? '} ;;
    esac
done <"$transcript"

# run ROOM: every command's output and status, in files named by the command's number
run() {
    mkdir -p "$rooms/$1/work" && ln -s "$data" "$rooms/$1/work/data"
    for ((i = 1; i <= n; i++)); do
        (cd "$rooms/$1/work" && timeout 300 bash -c "${commands[i]}") \
            >"$rooms/$1/$i.out" 2>&1 </dev/null
        echo $? >"$rooms/$1/$i.status"
        [ "$(cat "$rooms/$1/$i.status")" != 124 ] || echo "stopped after 300 s" >>"$rooms/$1/$i.out"
        [ -z "$(tail -c 1 "$rooms/$1/$i.out")" ] || echo >>"$rooms/$1/$i.out"
    done
}

# rewrite the transcript with what the first run printed
update() {
    local number=0 line
    while IFS= read -r line || [ -n "$line" ]; do
        case $line in
        '>' | '> '* | '? '*) continue ;;
        esac
        printf '%s\n' "$line"
        [[ $line == '$ '* ]] || continue
        while [[ $line == *\\ ]] && IFS= read -r line; do printf '%s\n' "$line"; done
        number=$((number + 1))
        sed 's/^/> /; s/^> $/>/' "$rooms/1/$number.out"
        [ "$(cat "$rooms/1/$number.status")" = 0 ] || echo "? $(cat "$rooms/1/$number.status")"
    done <"$transcript" >"$rooms/new"
    cmp -s "$rooms/new" "$transcript" || cp "$rooms/new" "$transcript"
}

run 1
run 2
echo "1..$n"
for ((i = 1; i <= n; i++)); do
    title=$(echo "${commands[i]//#/}" | tr -s ' \\\n' ' ' | cut -c 1-100)
    printf '%s' "${expected[i]}" >"$rooms/expected"
    got=$(cat "$rooms/1/$i.status")
    if ! cmp -s "$rooms/1/$i.out" "$rooms/2/$i.out"; then
        echo "not ok $i - $title (two runs differ)"
        diff "$rooms/1/$i.out" "$rooms/2/$i.out" | sed 's/^/# /'
    elif [ "${DTSIM_UPDATE_GOLDEN:-}" = 1 ]; then
        echo "ok $i - $title (written)"
    elif ! cmp -s "$rooms/expected" "$rooms/1/$i.out"; then
        echo "not ok $i - $title (other output)"
        diff -u --label expected --label printed "$rooms/expected" "$rooms/1/$i.out" | sed 's/^/# /'
    elif [ "$got" != "${statuses[i]}" ]; then
        echo "not ok $i - $title (exit status $got, expected ${statuses[i]})"
    else
        echo "ok $i - $title"
    fi
done
[ "${DTSIM_UPDATE_GOLDEN:-}" != 1 ] || update
