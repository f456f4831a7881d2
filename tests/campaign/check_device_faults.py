# SPDX-License-Identifier: Apache-2.0
"""Lets calls of CUDA fail, one after another. The command must fall back and give the right result, or end with one
sentence and code 3 or 4; then the old output must still be there, and no other file may be left.
check_device_faults.py CONVOLUME LIBRARY [SECONDS [AT_ONCE]]: SECONDS, default 30, are shared by commands and faults;
AT_ONCE processes, default 4, use the device at the same time. CONVOLUME must use CUDA's runtime as a shared library
(-DCMAKE_CUDA_RUNTIME_LIBRARY=Shared); LIBRARY is built from device_faults.cpp.

Ends with 77 (skipped) if there is no GPU or a module is missing."""
import concurrent.futures
import os
import shutil
import subprocess
import sys
import tempfile
import time

try:
    import numpy as np
except ImportError as error:
    print("SKIPPED:", error)
    sys.exit(77)

command, library = (os.path.abspath(name) for name in sys.argv[1:3])
seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 30
at_once = int(sys.argv[4]) if len(sys.argv) > 4 else 4
if "libcudart" not in subprocess.run(["ldd", command], capture_output=True, text=True).stdout:
    print("SKIPPED: the command has no shared CUDA runtime (-DCMAKE_CUDA_RUNTIME_LIBRARY=Shared)")
    sys.exit(77)
folder = tempfile.mkdtemp()
os.chdir(folder)
rng = np.random.default_rng(3)
np.save("image.npy", rng.integers(1, 1000, (40, 96, 100)).astype(np.uint16))
axes = np.meshgrid(*(np.arange(-(n // 2), n // 2 + 1) for n in (9, 11, 13)), indexing="ij")
np.save("kernel.npy", np.exp(-sum(axis**2 for axis in axes) / 3).astype(np.float32))
np.save("signal.npy", rng.random(1 << 20).astype(np.float32))
np.save("taps.npy", rng.random((3, 65)).astype(np.float32))
convolve = ["convolve", "image.npy", "kernel.npy"]
runs = {
    "convolve": convolve,
    "dif": [*convolve, "--method", "dif", "--parts", "2"],
    "tiled": [*convolve, "--method", "tiled", "--max-gpu-mem", "300M"],
    "direct": [*convolve, "--method", "direct"],
    "deconvolve": ["deconvolve", "image.npy", "kernel.npy", "--iterations", "3"],
    "filter": ["filter", "signal.npy", "taps.npy"],
}
codes = {"malloc": (3, 4), "host": (3, 4), "call": (4,), "hang": (), "none": (4,)}
hang_s = 2


def run(name, place, device="gpu", **faults):
    """Runs a command in a folder of its own, and returns its files, its code, its message and its time."""
    os.makedirs(place)
    arguments = [name if not name.endswith(".npy") else os.path.join(folder, name) for name in runs[name]]
    output = os.path.join(place, "out.npy")
    with open(output, "wb") as old:
        old.write(b"old")
    settings = {"LD_PRELOAD": library, **faults} if faults else {}
    begin = time.monotonic()
    try:
        done = subprocess.run([command, *arguments, "-o", output, "--overwrite", "-q", "--device", device],
                              capture_output=True, text=True, timeout=300, env={**os.environ, **settings})
    except subprocess.TimeoutExpired:
        return None, "no end within 60 s", None, [], 60
    left = sorted(os.listdir(place))
    with open(output, "rb") as file:
        content = file.read()
    return done.returncode, done.stderr, content, left, time.monotonic() - begin


def samples(content):
    with open("wanted.npy", "wb") as file:
        file.write(content)
    return np.load("wanted.npy")


code, message, content, _, _ = run("convolve", "plain")
if code != 0:
    print("SKIPPED: no GPU:", message.strip())
    shutil.rmtree(folder)
    sys.exit(77)
wanted = {}
for name in runs:
    code, message, content, _, _ = run(name, f"cpu_{name}", device="cpu")
    if code != 0:
        sys.exit(f"FAILED: {name} on the CPU: {message}")
    wanted[name] = samples(content)


def is_right(name, content):
    with open(f"found_{id(content)}.npy", "wb") as file:
        file.write(content)
    found = np.load(file.name)
    os.remove(file.name)
    return found.shape == wanted[name].shape and np.allclose(found, wanted[name], rtol=1e-3,
                                                             atol=1e-4 * np.abs(wanted[name]).max())


def try_fault(name, kind, after, device="gpu"):
    place = f"{name}_{kind}_{after}_{device}"
    mark = os.path.join(folder, place + ".took_place")
    code, message, content, left, took_s = run(
        name, place, device, CONVOLUME_DEVICE_FAULT=kind, CONVOLUME_DEVICE_FAULT_AFTER=str(after),
        CONVOLUME_DEVICE_FAULT_FILE=mark, CONVOLUME_DEVICE_FAULT_SECONDS=str(hang_s))
    shutil.rmtree(place)
    took_place = os.path.exists(mark) or kind == "none"
    where = f"{name}, {kind} {after} on {device}"
    if left != ["out.npy"]:
        return took_place, code, f"{where}: left {left}"
    if code == 0:
        right = is_right(name, content)
        return took_place, code, None if right else f"{where}: the result is wrong"
    if code not in codes[kind]:
        return took_place, code, f"{where}: exit code {code}: {message[:300]}"
    if content != b"old":
        return took_place, code, f"{where}: the old output is gone"
    if message.count("\n") != 1 or not message.strip():
        return took_place, code, f"{where}: not one sentence: {message[:300]}"
    return took_place, code, None


failures, ends, faults = [], {}, 0
jobs = [(name, kind) for kind in ("call", "malloc", "host", "hang") for name in runs]
with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
    for name in runs:
        for device in ("gpu", "auto"):
            took_place, code, failure = try_fault(name, "none", 0, device)
            ends[f"none: {code}"] = ends.get(f"none: {code}", 0) + 1
            faults += 1
            if failure:
                failures.append(failure)
            elif device == "auto" and code != 0:
                failures.append(f"{name}: no device, and the CPU was not taken (exit code {code})")
    for name, kind in jobs:
        stop = time.monotonic() + seconds / len(jobs)
        after, step, is_over = 0, 1, False
        while not is_over and time.monotonic() < stop:
            # Tries all of the first calls, then fewer and fewer, because there are thousands of calls.
            numbers = [after + i * step for i in range(at_once)]
            after += at_once * step
            step = max(1, after // 12)
            tried = pool.map(lambda n, name=name, kind=kind: try_fault(name, kind, n), numbers)
            for took_place, code, failure in tried:
                is_over = is_over or not took_place
                if took_place:
                    faults += 1
                    ends[f"{kind}: {code}"] = ends.get(f"{kind}: {code}", 0) + 1
                if failure:
                    failures.append(failure)
        print(f"{name}: {kind} up to call {after}{', all' if is_over and step == 1 else ''}")
os.chdir("/")
shutil.rmtree(folder)
for failure in failures[:40]:
    print("FAILED:", failure)
if not any(end.startswith("call") for end in ends):
    failures.append("no call failed")
    print("FAILED: no call of the runtime failed: the library was not loaded, or the runtime is not shared")
print(f"{faults} faults of the device: {dict(sorted(ends.items()))}, {len(failures)} failures")
sys.exit(1 if failures else 0)
