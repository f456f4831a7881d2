# SPDX-License-Identifier: Apache-2.0
"""Checks results that are written into the HDF5 file of the image: they are right, and nothing else in it changes.
check_hdf5_workflow.py CONVOLUME HDF5.

Ends with 77 (skipped) if a module or HDF5 is missing."""
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from checks import check, finish

try:
    import h5py
    import numpy as np
    from scipy import ndimage
except ImportError as error:
    print("SKIPPED:", error)
    sys.exit(77)
if sys.argv[2] != "ON":
    print("SKIPPED: convolume is built without HDF5")
    sys.exit(77)

SEED = int(os.environ.get("CONVOLUME_TEST_SEED", 20240802))
rng = np.random.default_rng(SEED)
command = os.path.abspath(sys.argv[1])


def run(*arguments, status=0, names=""):
    done = subprocess.run([command, *arguments, "-q"], capture_output=True, text=True)
    check(done.returncode == status and names in done.stderr, arguments, "exit code", done.returncode, done.stderr)
    if status:
        check(done.stderr.count("\n") == 1, arguments, done.stderr)


def content(path, without=()):
    """Returns everything in a file: kinds, samples, attributes, links."""
    found = {}

    def attributes(item):
        return {name: np.array(value).tolist() for name, value in item.attrs.items()}

    with h5py.File(path) as file:
        found["/"] = attributes(file)

        def visit(name, item):
            if any(name == w or name.startswith(w + "/") for w in without):
                return
            samples = item[()].tobytes() + str(item.dtype).encode() if isinstance(item, h5py.Dataset) else None
            found[name] = (type(item).__name__, samples, getattr(item, "chunks", None), attributes(item))

        file.visititems(visit)
        if isinstance(file.get("alias", getlink=True), h5py.SoftLink):
            found["alias"] = file.get("alias", getlink=True).path
    return found


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    image = rng.integers(0, 4000, (9, 22, 25)).astype("uint16")
    kernel = rng.random((3, 5, 3)).astype("float32")
    with h5py.File("a.h5", "w") as file:
        file.attrs["title"] = "an experiment"
        raw = file.create_dataset("raw", data=image, chunks=(4, 8, 8), compression="gzip", shuffle=True)
        raw.attrs["element_size_um"] = [0.3, 0.1, 0.1]
        raw.attrs["note"] = "as recorded"
        file.create_dataset("kernels/psf", data=kernel)
        file.create_dataset("table", data=np.arange(7.0))
        file["alias"] = h5py.SoftLink("/raw")
    before = content("a.h5")
    wanted = ndimage.convolve(image.astype(float), kernel / kernel.sum(dtype=float), mode="constant")

    def check_result(path, name):
        with h5py.File(path) as file:
            got = file[name][()]
            check(got.shape == wanted.shape and np.abs(got - wanted).max() < 1e-5 * wanted.max(), name, "is wrong")
            check(np.allclose(file[name].attrs["element_size_um"], [0.3, 0.1, 0.1]), name, "voxel size")

    # Image, kernel and result in one file; then the result is replaced, compressed.
    run("convolve", "a.h5:/raw", "a.h5:/kernels/psf", "-o", "a.h5:/results/blurred")
    check_result("a.h5", "results/blurred")
    check(content("a.h5", ["results"]) == before, "something else was changed")
    run("convolve", "./a.h5:/raw", "a.h5:/kernels/psf", "-o", f"{folder}/a.h5:/results/blurred", "--overwrite",
        "--compression", "deflate")
    check_result("a.h5", "results/blurred")
    check(content("a.h5", ["results"]) == before, "something else was changed")
    with h5py.File("a.h5") as file:
        check(file["results/blurred"].compression == "gzip", "not compressed")
    # The result of another run is the input; other commands write into the file, too.
    run("deconvolve", "a.h5:/results/blurred", "a.h5:/kernels/psf", "-o", "a.h5:/results/restored", "--iterations",
        "3", "--overwrite")
    run("simulate", "a.h5:/raw", "a.h5:/kernels/psf", "-o", "a.h5:/results/recorded", "--overwrite")
    run("convolve", "a.h5:/raw", "a.h5:/kernels/psf", "-o", "a.h5:/results/scaled", "--scale-output", "--overwrite")
    check_result("a.h5", "results/blurred")
    check(content("a.h5", ["results"]) == before, "something else was changed")
    with h5py.File("a.h5") as file:
        check(sorted(file["results"]) == ["blurred", "recorded", "restored", "scaled"], list(file["results"]))
        scaled = file["results/scaled"]
        values = scaled[()] * scaled.attrs["scale_factor"][0] + scaled.attrs["add_offset"][0]
        check(np.abs(values - wanted).max() <= 0.51 * scaled.attrs["scale_factor"][0], "scaled")

    # The dataset is a link to the input: the link is replaced, the input stays.
    shutil.copy("a.h5", "b.h5")
    run("convolve", "b.h5:/raw", "b.h5:/kernels/psf", "-o", "b.h5:/alias", "--overwrite")
    check_result("b.h5", "alias")
    after = content("b.h5", ["results", "alias"])
    after.pop("alias", None)
    check(after == {name: what for name, what in before.items() if name != "alias"}, "the input behind a link")

    # Outputs that would destroy an input are refused, and no byte of the file changes.
    os.remove("b.h5")
    bytes_before = Path("a.h5").read_bytes()
    refused = [("a.h5:/raw", "a.h5:/raw", "is one of the inputs"), ("a.h5:/raw", "a.h5://raw/", "is one of the inputs"),
               ("a.h5:/raw", "./a.h5:/./raw", "is one of the inputs"), ("a.h5:/raw", "a.h5", "is one of the inputs"),
               ("a.h5:/raw", "a.h5:/kernels/psf", "is one of the inputs"), ("a.h5", "a.h5:/new", "is not named")]
    for source, target, words in refused:
        run("convolve", source, "a.h5:/kernels/psf", "-o", target, "--overwrite", status=2, names=words)
    run("convolve", "a.h5:/raw", "a.h5:/kernels/psf", "-o", "a.h5:/raw/x", status=73, names="/raw")
    run("convolve", "a.h5:/raw", "a.h5:/kernels/psf", "-o", "a.h5:/results/blurred", status=5,
        names="\"a.h5:/results/blurred\" exists")
    run("convolve", "a.h5:/raw", "a.h5:/kernels/psf", "-o", "a.h5", status=2, names="a.h5")
    run("convolve", "a.h5:/raw", "a.h5:/kernels/psf", "-o", "a.h5:/kernels", "--overwrite", status=73, names="/kernels")
    run("convolve", "a.h5:/raw", "a.h5:/kernels/psf", "-o", "a.h5:/raw/x", "--overwrite", status=73, names="/raw")
    run("simulate", "a.h5:/raw", "a.h5:/kernels/psf", "-o", "a.h5:/one", "--truth", "a.h5:/two", "--overwrite",
        status=2, names="two outputs")
    check(Path("a.h5").read_bytes() == bytes_before, "a refused run changed the file")
    check(os.listdir() == ["a.h5"], "left behind", os.listdir())

finish(SEED)
