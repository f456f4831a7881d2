# SPDX-License-Identifier: Apache-2.0
"""Checks that the command reports losses that a result cannot show: infinities, further images of a file, display
ranges of other values, and files that change while they are read.
check_silent_losses.py CONVOLUME TIFF.

Ends with 77 (skipped) if a module is missing."""
import os
import shutil
import subprocess
import sys
import tempfile
import threading

try:
    import numpy as np
    import tifffile
except ImportError as error:
    print("SKIPPED:", error)
    sys.exit(77)

command = os.path.abspath(sys.argv[1])
failures = []


def run(*arguments):
    return subprocess.run([command, *arguments], capture_output=True, text=True, timeout=600)


def expect(right, what, done=None):
    if not right:
        said = f": exit code {done.returncode}: {done.stdout[:300]} {done.stderr[:500]}" if done else ""
        failures.append(what + said)


def check_infinities():
    np.save("large.npy", np.full((4, 16, 16), 3e38, np.float32))
    np.save("ones.npy", np.ones((3, 3, 3), np.float32))
    done = run("convolve", "large.npy", "ones.npy", "--kernel-normalize", "none", "-o", "inf.npy")
    count = np.count_nonzero(~np.isfinite(np.load("inf.npy")))
    expect(done.returncode == 0 and count > 0, "the result should be infinite", done)
    expect(f"{count} values of the result are NaN or infinite" in done.stderr, "infinities are not told", done)
    done = run("convolve", "ones.npy", "ones.npy", "-o", "finite.npy")
    expect("infinite" not in done.stderr, "infinities are told where there are none", done)


def check_images():
    """Tests two images in one OME-TIFF."""
    with tifffile.TiffWriter("two.ome.tif", ome=True) as writer:
        for shape in ((3, 8, 8), (2, 9, 9)):
            writer.write(np.ones(shape, np.uint16), photometric="minisblack", metadata={"axes": "ZYX"})
    done = run("info", "two.ome.tif")
    expect("images in the file: 2" in done.stdout, "info is silent about the second image", done)
    done = run("convolve", "two.ome.tif", "ones.npy", "-o", "first.ome.tif")
    expect("2 images" in done.stderr and "--image" in done.stderr, "convolve is silent about the second image", done)
    expect("images in the file" not in run("info", "first.ome.tif").stdout, "the output claims the second image")


def check_display_ranges():
    data = np.random.default_rng(1).integers(0, 100, (4, 2, 16, 16)).astype(np.uint16)
    tables = [np.arange(256, dtype=np.uint8) * np.array(c, np.uint8)[:, None] for c in ((1, 0, 0), (0, 1, 0))]
    tifffile.imwrite("composite.tif", data, imagej=True,
                     metadata={"axes": "ZCYX", "mode": "composite", "Ranges": (10.0, 90.0, 20.0, 80.0), "LUTs": tables,
                               "Labels": [f"plane {i}" for i in range(8)]})
    done = run("convolve", "composite.tif", "ones.npy", "-o", "blurred.tif")
    with tifffile.TiffFile("blurred.tif") as file:
        found = file.imagej_metadata
        pixels = file.asarray()
    ranges = [limit(pixels[:, c]) for c in range(2) for limit in (np.min, np.max)]
    expect(done.returncode == 0 and np.allclose(found["Ranges"], ranges), "display ranges of other values", done)
    expect(len(found.get("LUTs", [])) == 2 and len(found.get("Labels", [])) == 8, f"tables or labels are lost: {found}")


def check_changed_files():
    """Tests signals that grow, or are overwritten, while they are read."""
    samples = np.random.default_rng(2).random(40_000_000).astype(np.float32)
    np.save("signal.npy", samples)
    samples.tofile("signal.f32")
    np.save("taps.npy", np.ones(64, np.float32) / 64)
    for name in ("signal.npy", "signal.f32"):
        for grows in (True, False):
            over = threading.Event()

            def change(name=name, grows=grows, over=over):
                while not over.wait(0.01):
                    with open(name, "r+b") as file:
                        file.seek(0, os.SEEK_END if grows else os.SEEK_SET)
                        file.write(b"\x93NUM" if name.endswith(".npy") else b"\0" * 4)
            thread = threading.Thread(target=change)
            thread.start()
            done = run("filter", name, "taps.npy", "-o", "filtered.npy", "--overwrite")
            over.set()
            thread.join()
            expect(done.returncode == 74 and "was changed" in done.stderr,
                   f"{name} {'grew' if grows else 'was written'} while it was read", done)


folder = tempfile.mkdtemp()
os.chdir(folder)
check_infinities()
if sys.argv[2] == "ON":
    check_images()
    check_display_ranges()
check_changed_files()
os.chdir("/")
shutil.rmtree(folder)
for failure in failures:
    print("FAILED:", failure)
print(f"{len(failures)} failures")
sys.exit(1 if failures else 0)
