# SPDX-License-Identifier: Apache-2.0
"""Makes writing fail at every call: the output must be the old or the new file, whole, and no other file may be left.
check_write_faults.py CONVOLUME PRELOAD_LIBRARY HDF5 TIFF COUNT: the first COUNT calls of each kind.

Ends with 77 (skipped) if a module is missing."""
import collections
import errno
import os
import shutil
import sys
import tempfile

try:
    from campaign_runs import Runs
except ImportError as error:
    print("SKIPPED:", error)
    sys.exit(77)

command, library = map(os.path.abspath, sys.argv[1:3])
count = int(sys.argv[5])
folder = tempfile.mkdtemp()
os.chdir(folder)
runs = Runs(command, sys.argv[3] == "ON", sys.argv[4] == "ON")
failures, codes, hit = [], collections.Counter(), 0
for name in runs.arguments:
    done = runs.run(name)
    wanted = runs.contents(name)
    if done.returncode != 0 or None in wanted.values():
        failures.append(f"{name}, without faults: exit code {done.returncode}: {done.stderr}")
        continue
    for call, fault in (("pwrite", "error"), ("pwrite", "short"), ("pwrite", "full"), ("pwrite", "zero"),
                        ("write", "error"), ("write", "short"), ("fsync", "error"), ("rename", "error"),
                        ("close", "error"), ("ftruncate", "error")):
        if fault == "zero" and name in ("hdf5", "chunks"):
            continue  # HDF5 repeats a write of 0 bytes without end
        for after in range(count):
            old = runs.put_old(name)
            done = runs.run(name, LD_PRELOAD=library, CONVOLUME_FAULT_CALL=call, CONVOLUME_FAULT_AFTER=str(after),
                            CONVOLUME_FAULT=fault, CONVOLUME_FAULT_ERROR=str(errno.ENOSPC if fault == "full" else 0))
            codes[done.returncode] += 1
            where = f"{name}, {call} {after}, {fault}"
            for file, found in runs.contents(name).items():
                if found != wanted[file] and (done.returncode == 0 or found != old[file]):
                    failures.append(f"{where}: {file} is neither old nor new: exit code {done.returncode}")
            if call == "fsync" and after == 0 and done.returncode == 0:
                failures.append(f"{where}: an output that may not have reached the disk counts as written")
            if done.returncode not in ((0, 73, 74, 7) if name == "many" else (0, 73, 74)):
                failures.append(f"{where}: exit code {done.returncode}: {done.stderr[:300]}")
            if done.returncode in (73, 74) and name != "many" and done.stderr.count("convolume: error") != 1:
                failures.append(f"{where}: not one sentence: {done.stderr[:300]}")
            left = runs.leftovers()
            if left:
                failures.append(f"{where}: left {left}")
            hit += done.returncode != 0
            if done.returncode == 0 and fault != "short":
                break  # there are no more such calls, or their failure does not matter
if hit == 0:
    failures.append("no call was made to fail: is the library loaded?")
os.chdir("/")
shutil.rmtree(folder)
for failure in failures:
    print("FAILED:", failure)
print(f"{sum(codes.values())} runs, exit codes {dict(codes)}, {len(failures)} failures")
sys.exit(1 if failures else 0)
