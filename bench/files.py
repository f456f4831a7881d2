#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times the whole command from file to file, and a plain program that reads the image and writes as many bytes as the
result has, fsync included. All take turns.

    bench/files.py [--build DIR] [--folder DIR] [--rounds N] [--device NAME] [--large] [--timeline FILE] [--json FILE]

Cases: a uint16 stack of 256×2048×2048 * 33×127×127 as TIFF and as contiguous HDF5, with float32 results; 64×1024×1024
of HDF5 with deflated chunks, with h5py as peer; with --large, 24 GiB of BigTIFF under 4 GiB of host memory. The script
needs numpy, tifffile and h5py, and 10 GB of space (50 with --large).
"""

import argparse
import os
import re
import statistics
import subprocess
import time
from datetime import date
from pathlib import Path

import h5py
import numpy as np
import tifffile
from report import report_text

BLOCK = 16 << 20


def copy_plainly(source, written, target):
    """Reads all of `source` and writes `written` bytes to disk."""
    block = bytearray(BLOCK)
    with open(source, "rb", buffering=0) as reader, open(target, "wb", buffering=0) as writer:
        size = os.path.getsize(source)
        given = 0
        read = 0
        while count := reader.readinto(block):
            read += count
            while given < min(written, written * read // size):
                step = min(BLOCK, written * read // size - given)
                given += writer.write(memoryview(block)[:step])
        os.fsync(writer.fileno())


def copy_by_h5py(source, result, target):
    """Reads a deflated dataset and writes `result` with the same HDF5 chunks and filters."""
    with h5py.File(source) as file:
        file["raw"][:]
        options = {key: getattr(file["raw"], key) for key in ("chunks", "compression", "compression_opts", "shuffle")}
    with h5py.File(target, "w") as file:
        file.create_dataset("raw", data=result, **options)
        file.flush()
        os.fsync(file.id.get_vfd_handle())


def measure_seconds(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def run_convolve(arguments, image, kernel, target, options):
    command = ["/usr/bin/time", "-f", "%M KiB", arguments.convolume, "convolve", image, kernel, "-o", target, "-q",
               "--device", arguments.device]
    done = subprocess.run([*map(str, command), *options], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{command}: {done.stderr}")
    return int(re.search(r"(\d+) KiB", done.stderr).group(1)) * 1024


def make_stack(path, shape, **options):
    random = np.random.default_rng(1)
    planes = random.integers(0, 4000, (16, *shape[1:]), dtype=np.uint16)
    if path.suffix == ".tif":
        stack = tifffile.memmap(path, shape=shape, dtype=np.uint16, bigtiff=np.prod(shape) > 2**31)
        for z in range(0, shape[0], 16):
            stack[z : z + 16] = planes + z // 16
        stack.flush()
    else:
        with h5py.File(path, "w") as file:
            stack = file.create_dataset("raw", shape, np.uint16, **options)
            for z in range(0, shape[0], 16):
                stack[z : z + 16] = (planes >> 8) + np.arange(shape[2], dtype=np.uint16) if options else planes
    os.sync()


def measure_in_turns(name, arguments, image, peer, kernel, target, options):
    """Runs the peer and the command in turns; returns the seconds of both."""
    peers, ours, memory = [], [], 0
    copy = arguments.folder / "copy.raw"
    for _ in range(arguments.rounds):
        peers.append(measure_seconds(lambda: peer(copy)))
        copy.unlink()
        target.unlink(missing_ok=True)
        start = time.perf_counter()
        memory = max(memory, run_convolve(arguments, image, kernel, target, options))
        ours.append(time.perf_counter() - start)
    row = {"case": name, "peer_s": statistics.median(peers), "convolume_s": statistics.median(ours),
           "peer_all_s": peers, "convolume_all_s": ours, "peak_bytes": memory}
    print(f"{name:40} peer {row['peer_s']:7.2f} s ({min(peers):.2f}–{max(peers):.2f}), convolume "
          f"{row['convolume_s']:7.2f} s ({min(ours):.2f}–{max(ours):.2f}), {memory >> 20} MiB", flush=True)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=Path(__file__).parent.parent / "build" / "release")
    parser.add_argument("--folder", type=Path, default=Path("/var/tmp"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--timeline", type=Path)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    arguments.convolume = arguments.build / "cli" / "convolume"
    arguments.folder = arguments.folder / f"convolume-files-{os.getpid()}"
    arguments.folder.mkdir()
    folder = arguments.folder
    kernel = folder / "kernel.npy"
    np.save(kernel, np.random.default_rng(2).random((33, 127, 127), dtype=np.float32))
    rows = []
    try:
        shape = (256, 2048, 2048)
        for suffix in (".tif", ".h5"):
            image, target = folder / f"image{suffix}", folder / f"result{suffix}"
            make_stack(image, shape)
            written = int(np.prod(shape)) * 4
            rows.append(measure_in_turns(f"256×2048×2048 {suffix}", arguments, image,
                                         lambda copy, image=image, written=written: copy_plainly(image, written, copy),
                                         kernel, target, []))
            if arguments.timeline and suffix == ".tif":
                run_convolve(arguments, image, kernel, folder / "again.tif",
                             ["--timeline", str(arguments.timeline), "--overwrite"])
                (folder / "again.tif").unlink()
            image.unlink()
            target.unlink()
        image, target = folder / "image.h5", folder / "result.h5"
        make_stack(image, (64, 1024, 1024), chunks=(16, 128, 128), compression="gzip", compression_opts=4)
        deflate = ["--compression", "deflate", "--overwrite"]
        run_convolve(arguments, image, kernel, target, deflate)
        with h5py.File(target) as file:
            result = next(iter(file.values()))[:] if "raw" not in file else file["raw"][:]
        rows.append(measure_in_turns("64×1024×1024 .h5, deflated", arguments, image,
                                     lambda copy: copy_by_h5py(image, result, copy), kernel, target, deflate))
        if arguments.large:
            image, target = folder / "large.tif", folder / "result.tif"
            make_stack(image, (1536, 2048, 4096))
            size = image.stat().st_size
            rows.append(measure_in_turns("24 GiB .tif, 4 GiB of memory", arguments, image,
                                         lambda copy: copy_plainly(image, size, copy), kernel, target,
                                         ["--max-host-mem", "4G", "--output-type", "same"]))
    finally:
        for path in folder.iterdir():
            path.unlink()
        folder.rmdir()
    if arguments.json:
        arguments.json.write_text(report_text({"date": str(date.today()), "rows": rows}), encoding="utf-8")


if __name__ == "__main__":
    main()
