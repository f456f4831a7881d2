# SPDX-License-Identifier: Apache-2.0
"""Runs batches of many images: memory, threads and open files must not grow, and each result must be right.
check_soak.py CONVOLUME TIFF COUNT: COUNT images for each of several commands.

Ends with 77 (skipped) if a module is missing."""
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

command, count = os.path.abspath(sys.argv[1]), int(sys.argv[3])
folder = tempfile.mkdtemp()
os.chdir(folder)
rng = np.random.default_rng(13)
shapes = [(24, 100, 110), (24, 100, 110), (17, 90, 128)]  # the third shape differs, so that plans change
kinds = len(shapes)
for number, shape in enumerate(shapes):
    np.save(f"image{number}.npy", rng.integers(1, 1000, shape).astype(np.uint16))
np.save("kernel.npy", rng.random((5, 7, 7)).astype(np.float32))
os.mkdir("images")
names = [f"{number:05}.npy" for number in range(count)]
for number, name in enumerate(names):
    os.link(f"image{number % kinds}.npy", os.path.join("images", name))
runs = {"convolve": ["convolve"], "deconvolve": ["deconvolve", "--iterations", "2"]}
if sys.argv[2] == "ON":
    runs["coded TIFF"] = ["convolve", "--output-name", "{stem}.tif", "--compression", "deflate"]
ALLOWED = {"memory, MiB": 12, "threads": 4, "open files": 6}  # growth allowed after the first tenth of the files


def resource_use(process):
    """Returns memory in MiB, threads and open files of the process, or nothing if it has ended."""
    try:
        with open(f"/proc/{process.pid}/status") as status:
            values = dict(line.split(":", 1) for line in status)
        files = len(os.listdir(f"/proc/{process.pid}/fd"))
        return {"memory, MiB": int(values["VmRSS"].split()[0]) / 1024, "threads": int(values["Threads"]),
                "open files": files}
    except (OSError, KeyError):
        return None


failures = []
for name, arguments in runs.items():
    os.mkdir("outs")
    process = subprocess.Popen([command, arguments[0], *(os.path.join("images", image) for image in names),
                                "kernel.npy", "--output-dir", "outs", "-q", "--device", "cpu", *arguments[1:]],
                               stderr=subprocess.PIPE, text=True)
    samples = []
    while process.poll() is None:
        found = resource_use(process)
        if found is not None:
            samples.append((len(os.listdir("outs")), found))
        time.sleep(0.02)
    error = process.stderr.read()
    if process.returncode != 0:
        failures.append(f"{name}: exit code {process.returncode}: {error[:300]}")
        shutil.rmtree("outs")
        continue
    early = [values for done, values in samples if count / 20 <= done <= count / 5]
    late = [values for done, values in samples if done >= count * 0.8]
    if not early or not late:
        failures.append(f"{name}: too few samples to tell")
    else:
        growth = {what: max(v[what] for v in late) - max(v[what] for v in early) for what in ALLOWED}
        print(f"{name}: {count} images, growth {', '.join(f'{what} {value:.1f}' for what, value in growth.items())}")
        failures += [f"{name}: {what} grew by {value:.1f}" for what, value in growth.items() if value > ALLOWED[what]]
    results = sorted(os.listdir("outs"))
    if [os.path.splitext(result)[0] for result in results] != [os.path.splitext(image)[0] for image in names]:
        failures.append(f"{name}: {len(results)} results, among them {results[:3]}")
    first = {}
    for number, result in enumerate(results):
        if name == "coded TIFF":
            continue
        # If FFTW computes, it measures transforms after some seconds, which changes the last bits of results.
        samples_of_it = np.load(os.path.join("outs", result))
        wanted = first.setdefault(number % kinds, samples_of_it)
        if not np.allclose(samples_of_it, wanted, rtol=1e-3, atol=1e-5 * np.abs(wanted).max()):
            failures.append(f"{name}: {result} is not as the first of its kind")
    shutil.rmtree("outs")
os.chdir("/")
shutil.rmtree(folder)
for failure in failures[:20]:
    print("FAILED:", failure)
print(f"{count} images each in {len(runs)} batches, {len(failures)} failures")
sys.exit(1 if failures else 0)
