#!/bin/bash
# Files of up to 500 lines, functions of up to 60 (from the name to the closing brace).
cd "${DTSIM_TEST_SOURCE:-$(dirname "$0")/..}" || exit
echo 1..2
mapfile -t files < <(find src calib tests -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' | LC_ALL=C sort)
awk 'FNR == 501 { print "# " FILENAME; bad = 1 }
     END { print (bad ? "not " : "") "ok 1 - no file is over 500 lines" }' "${files[@]}"
awk 'FNR == 1          { start = 0 }
     /^[a-zA-Z_0-9]+\(/ { start = FNR; name = $0 }
     /^}/ && start     { if (FNR - start > 60) { print "# " FILENAME ":" start ": " FNR - start " lines: " name; bad = 1 }
                         start = 0 }
     END { print (bad ? "not " : "") "ok 2 - no function is over 60 lines" }' "${files[@]}"
