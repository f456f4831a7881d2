#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Tests exit codes and messages of test programs with skipped cases: check_skips.sh PROGRAM
set -eu
program=$1

# expect CODE TEXT ARGUMENT...: fails unless the program prints TEXT and ends with CODE.
expect() {
    code=$1
    text=$2
    shift 2
    got=0
    printed=$("$program" "$@" 2>&1) || got=$?
    case $printed in
        *"$text"*) [ "$got" -ne "$code" ] || return 0 ;;
    esac
    printf '%s\n' "$printed"
    echo "check_skips.sh: $* ended with $got; expected $code and: $text" >&2
    exit 1
}

expect 0 "" "[passing]"
expect 77 "SKIPPED: 1 of 1 test cases: there is no device 5" "[skipped]"
expect 77 "SKIPPED: 1 of 2 test cases: nor is there a second one" "[skipped],[sections]"
expect 0 "SKIPPED: 1 of 2 test cases: there is no device 5" "[skipped],[passing]"
expect 0 "SKIPPED: 1 of 2 test cases: nor is there a second one" "[sections],[passing]"
expect 1 "failing 77 times" "[failing]"
expect 1 "failing four times" "[failing4]"
expect 1 "SKIPPED: 1 of 2 test cases" "[failing],[skipped]"
expect 1 "" --no-such-option
export CONVOLUME_SKIPS=fail
expect 0 "" "[passing]"
expect 1 "Skipped test cases are failures" "[passing],[skipped],[sections]"
