#!/bin/bash
# README.md's examples, ```console blocks with `$ command` and what it prints, are a transcript.
# A block without output after its command shows the command only and is not run.
set -u
here=$(dirname "$(realpath "$0")")
source=${DTSIM_TEST_SOURCE:-$here/..}
transcript=$(mktemp)
trap 'rm -f "$transcript"' EXIT
awk -v source="$source" '
    /^\$ / { gsub(/traces\/published/, "\"" source "\"/&") }
    /^```console$/ { inside = 1; next }
    /^```/         { inside = 0; next }
    !inside        { next }
    continued      { held = held "\n" $0; continued = /\\$/; next }
    /^\$ /         { sub(/^\$ (\.\/bootstrap && )?\.\/dtsim/, "$ dtsim"); held = $0; continued = /\\$/; next }
    held != ""     { print held; held = "" }
                   { print ($0 == "") ? ">" : "> " $0 }
' "$source/README.md" >"$transcript"
if ! grep -q '^\$ ' "$transcript"; then
    echo "1..0 # SKIP README.md shows no output to compare with"
    exit 0
fi
DTSIM_UPDATE_GOLDEN=0 bash "$here/golden.sh" "$transcript"
