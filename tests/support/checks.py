# SPDX-License-Identifier: Apache-2.0
"""Counts the checks of a test script, and reports those that failed."""
import sys

failures = []
count = 0


def check(condition, *what):
    """Counts a check. If it failed, keeps a message made of the words."""
    global count
    count += 1
    if not condition:
        failures.append(" ".join(str(w) for w in what))


def finish(seed=None):
    """Prints the failures and a summary, and ends the script."""
    for failure in failures[:60]:
        print("FAILED:", failure)
    print(f"{count} checks, {len(failures)} failed" + (f", seed {seed}" if seed is not None else ""))
    sys.exit(1 if failures else 0)
