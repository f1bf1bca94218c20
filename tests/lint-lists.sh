#!/bin/bash
# What lies in the folders stands in the build's lists, so that the tarball is complete.
cd "${DTSIM_TEST_SOURCE:-$(dirname "$0")/..}" || exit
echo 1..3
check() { # NUMBER TITLE FINDINGS
    [ -z "$3" ] || sed 's/^/# /' <<<"$3"
    echo "$([ -z "$3" ] || echo "not ")ok $1 - $2"
}
# names of files below FOLDER that no word of FRAGMENTS mentions
unlisted() { # FOLDER FRAGMENTS [FIND-TEST...]
    local folder=$1 file name words
    # shellcheck disable=SC2086
    words=$(cat $2)
    find "$folder" -type f ! -name local.mk ! -name .dirstamp ! -path '*/.deps/*' "${@:3}" |
        LC_ALL=C sort | while IFS= read -r file; do
        name=${file##*/}
        [[ $words == *"${name%.c}"* ]] || echo "$file"
    done
}
check 1 "every source file stands in its layer's local.mk" "$(
    for layer in src/*/; do unlisted "${layer%/}" "${layer}local.mk Makefile.am" -name '*.[ch]'; done)"
check 2 "every test stands in a list" "$(
    unlisted tests/unit "$(echo tests/unit/*.mk)" -name '*.c'
    unlisted tests/fuzz "$(echo tests/unit/*.mk tests/local.mk)" -maxdepth 1 -name '*.c'
    unlisted tests/golden "$(echo tests/unit/*.mk tests/local.mk)" -name '*.golden'
    unlisted tests "tests/local.mk" -maxdepth 1 -name '*.sh')"
check 3 "every data file stands in a local.mk" "$(
    for folder in models traces plots calib/systems; do
        unlisted $folder $folder/local.mk ! -name '*.md'
    done)"
