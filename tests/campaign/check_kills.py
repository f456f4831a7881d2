# SPDX-License-Identifier: Apache-2.0
"""Kills runs at random moments: a file with an output's name must be the whole old file or the whole new one.
check_kills.py CONVOLUME HDF5 TIFF KILLS INTERRUPTS [SEED]: KILLS runs by SIGKILL, INTERRUPTS by SIGINT.

Ends with 77 (skipped) if a module is missing."""
import collections
import os
import random
import shutil
import signal
import sys
import tempfile
import time

try:
    from campaign_runs import Runs
except ImportError as error:
    print("SKIPPED:", error)
    sys.exit(77)

command = os.path.abspath(sys.argv[1])
counts = {signal.SIGKILL: int(sys.argv[4]), signal.SIGINT: int(sys.argv[5])}
seed = int(sys.argv[6]) if len(sys.argv) > 6 else 20250202
chance = random.Random(seed)
folder = tempfile.mkdtemp()
os.chdir(folder)
runs = Runs(command, sys.argv[2] == "ON", sys.argv[3] == "ON", shape=(24, 120, 120))
failures, ends = [], collections.Counter()


def handles_signal(process, number):
    """Returns whether the process handles or blocks the signal, which it does not while its libraries are loaded."""
    with open(f"/proc/{process.pid}/status") as status:
        masks = [int(line.split()[1], 16) for line in status if line.startswith(("SigCgt", "SigBlk"))]
    return any(mask >> (number - 1) & 1 for mask in masks)


wanted, seconds = {}, {}
for name in runs.arguments:
    begin = time.monotonic()
    done = runs.run(name)
    seconds[name] = time.monotonic() - begin
    wanted[name] = runs.contents(name)
    if done.returncode != 0:
        failures.append(f"{name}, left alone: exit code {done.returncode}: {done.stderr}")
names = list(runs.arguments)
for sent, count in counts.items():
    for number in range(count):
        name = names[number % len(names)]
        has_old = chance.random() < 0.5
        if has_old:
            old = runs.put_old(name)
        else:
            runs.clear(name)
            old = runs.contents(name)
        process = runs.start(name)
        time.sleep(chance.random() * 1.1 * seconds[name])
        caught = handles_signal(process, sent)
        process.send_signal(sent)
        _, error = process.communicate(timeout=600)
        where = f"{sent.name} {number} of seed {seed}, {name}"
        too_early = sent == signal.SIGINT and process.returncode == -sent and not caught
        ends[f"{sent.name}: {process.returncode}{' before main' if too_early else ''}"] += 1
        if sent == signal.SIGKILL:
            allowed = (-sent, 0)
        else:  # SIGINT itself ends a process only while the system loads it
            allowed = (0, 130) if caught else (0, 130, -sent)
        if process.returncode not in allowed:
            failures.append(f"{where}: exit code {process.returncode}: {error[:300]}")
        for file, found in runs.contents(name).items():
            if found != wanted[name][file] and (process.returncode == 0 or found != old[file]):
                failures.append(f"{where}: {file} is not whole")
        # The next run in the folder removes hidden files of killed processes.
        if sent == signal.SIGKILL:
            done = runs.run(name)
            if done.returncode != 0 or runs.contents(name) != wanted[name]:
                failures.append(f"{where}: the next run ended with {done.returncode}: {done.stderr[:300]}")
        left = runs.leftovers()
        if left:
            failures.append(f"{where}: left {left}")
# The system loads the program quickly. If half of the interruptions came before main, no handler was installed.
interruptions = counts[signal.SIGINT]
early = sum(number for end, number in ends.items() if end.endswith("before main"))
if interruptions >= 10 and early > interruptions / 2:
    failures.append(f"{early} of {interruptions} interruptions met no handler")
os.chdir("/")
shutil.rmtree(folder)
for failure in failures:
    print("FAILED:", failure)
print(f"{sum(ends.values())} runs were killed, seed {seed}: {dict(ends)}, {len(failures)} failures")
sys.exit(1 if failures else 0)
