#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs the tests of a build, then lists the skipped tests and cases, with the reasons.
#   scripts/ctest.sh BUILD [CTEST_OPTION...]
set -eu
build=$1
shift
status=0
# Many tests wait for files, programs and threads: with one test for each core, cores would be idle.
jobs=$((($(nproc) * 3 + 1) / 2))
ctest --test-dir "$build" --output-on-failure -j "$jobs" "$@" || status=$?
# This log has the output of all tests. Programs and scripts print SKIPPED: REASON, and pytest prints
# SKIPPED [1] FILE: REASON.
awk '
    / Testing: / { test = $NF }
    /^Output:/ { first = NR + 2 }
    NR == first { first_line = $0 }
    /^Skip regular expression found/ { skipped[++count] = test ": " first_line }
    /^ *SKIPPED/ {
        sub(/^ *SKIPPED:? */, "")
        if ($0 != "") skipped[++count] = test ": " $0
    }
    END {
        if (count) print "\nSkipped:"
        for (i = 1; i <= count; ++i) print "  " skipped[i]
    }' "$build/Testing/Temporary/LastTest.log"
exit "$status"
