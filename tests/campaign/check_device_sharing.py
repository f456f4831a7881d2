# SPDX-License-Identifier: Apache-2.0
"""Runs two commands at once on a GPU whose memory is nearly full. With limits that fit together, both must succeed;
with limits that do not, each must succeed or report a lack of memory. All results must be right.
check_device_sharing.py CONVOLUME DEVICE_SOAK [ROUNDS]: default 2 rounds.

Ends with 77 (skipped) if there is no GPU or a module is missing."""
import os
import shutil
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError as error:
    print("SKIPPED:", error)
    sys.exit(77)

command, soak = (os.path.abspath(name) for name in sys.argv[1:3])
rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 2
folder = tempfile.mkdtemp(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
os.chdir(folder)
rng = np.random.default_rng(5)
np.save("image.npy", rng.random((260, 512, 512), dtype=np.float32))
np.save("kernel.npy", rng.random((15, 15, 15), dtype=np.float32))
MIB = 1 << 20


def start(number, *options):
    return subprocess.Popen([command, "convolve", "image.npy", "kernel.npy", "-o", f"out{number}.npy", "--overwrite",
                             "-q", *options], stderr=subprocess.PIPE, text=True)


def finish(process):
    try:
        _, error = process.communicate(timeout=600)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return None, "no end within 120 s"
    return process.returncode, error


alone = start(0, "--device", "gpu")
code, error = finish(alone)
if code != 0:
    print("SKIPPED: no GPU:", error.strip())
    os.chdir("/")
    shutil.rmtree(folder)
    sys.exit(77)
wanted = np.load("out0.npy")
failures, ends = [], {}
for free_mib, limit_mib, must_succeed in ((6400, 1500, True), (6400, 2400, True), (4200, 3800, False)):
    for round_number in range(rounds):
        holder = subprocess.Popen([soak, "hold", str(free_mib * MIB)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  text=True)
        holder.stdout.readline()
        both = [start(number, "--device", "gpu", "--max-gpu-mem", f"{limit_mib}M") for number in (1, 2)]
        for number, process in enumerate(both, 1):
            code, error = finish(process)
            where = f"{limit_mib} MiB each of {free_mib} MiB, round {round_number}"
            ends[f"{limit_mib} MiB: {code}"] = ends.get(f"{limit_mib} MiB: {code}", 0) + 1
            if code == 0:
                found = np.load(f"out{number}.npy")
                if not np.allclose(found, wanted, rtol=1e-3, atol=1e-4 * wanted.max()):
                    failures.append(f"{where}: the result is wrong")
            elif must_succeed or code not in (3, 4) or error.count("\n") != 1:
                failures.append(f"{where}: exit code {code}: {error[:300]}")
            if os.path.exists(f"out{number}.npy"):
                os.remove(f"out{number}.npy")
        holder.communicate("")
left = sorted(set(os.listdir(".")) - {"image.npy", "kernel.npy", "out0.npy"})
if left:
    failures.append(f"left {left}")
os.chdir("/")
shutil.rmtree(folder)
for failure in failures:
    print("FAILED:", failure)
print(f"two commands on one GPU: {ends}, {len(failures)} failures")
sys.exit(1 if failures else 0)
