# SPDX-License-Identifier: Apache-2.0
"""Tests of file errors: they have one sentence, the system's number, and the name of the file."""

import copy
import errno
import os
import pickle
import shutil

import numpy as np
import pytest

import convolume

IMAGE = np.zeros((2, 3, 4), np.float32)


def check(error, name, code):
    text = str(error)
    assert not text.startswith("[Errno") and "None" not in text and "\n" not in text
    assert text == error.strerror and error.errno == code and error.filename == str(name)
    assert isinstance(error, convolume.Error) and isinstance(error, OSError)
    for other in (pickle.loads(pickle.dumps(error)), copy.copy(error)):  # workers of Dask pickle errors
        assert (type(other), str(other), other.errno, other.filename) == (type(error), text, code, str(name))


def opens(name):
    return lambda folder: (folder / name, convolume.open)


def saves(name):
    return lambda folder: (folder / name, lambda path: convolume.save(path, IMAGE))


CASES = {
    "open: no file": (opens("none.tif"), convolume.InputNotFound, FileNotFoundError, errno.ENOENT, "No such file"),
    "open: no folder": (opens("there.npy/a.tif"), convolume.InputNotFound, FileNotFoundError, errno.ENOTDIR,
                        "Not a directory"),
    "open: long name": (opens("n" * 300 + ".tif"), convolume.InputNotFound, FileNotFoundError, errno.ENAMETOOLONG,
                        "too long"),
    "open: no HDF5": (opens("none.h5"), convolume.InputNotFound, FileNotFoundError, errno.ENOENT, "No such file"),
    "open: no Zarr": (opens("none.zarr"), convolume.InputNotFound, FileNotFoundError, errno.ENOENT, "no Zarr group"),
    "save: exists": (saves("there.npy"), convolume.OutputExists, FileExistsError, errno.EEXIST, "exists already"),
    "save: no folder": (saves("none/a.tif"), convolume.CannotCreate, OSError, errno.ENOENT, "No such file"),
    "save: a file as folder": (saves("there.npy/a.tif"), convolume.CannotCreate, OSError, errno.ENOTDIR,
                               "Not a directory"),
    "save: Zarr exists": (saves("there.zarr"), convolume.OutputExists, FileExistsError, errno.EEXIST, "exists"),
    "save: no folder for Zarr": (saves("none/a.zarr"), convolume.CannotCreate, OSError, errno.ENOENT,
                                 "does not exist; create it first"),
}


@pytest.mark.parametrize("case", CASES)
def test_each_error_prints_its_sentence(tmp_path, case):
    if "Zarr" in case:
        pytest.importorskip("tensorstore")
        convolume.save(tmp_path / "there.zarr", IMAGE)
    np.save(tmp_path / "there.npy", IMAGE)
    what, kind, python, code, words = CASES[case]
    path, call = what(tmp_path)
    with pytest.raises(kind) as failed:
        call(path)
    assert isinstance(failed.value, python) and words in str(failed.value)
    check(failed.value, path, code)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read and write everything")
def test_permissions(tmp_path):
    np.save(tmp_path / "a.npy", IMAGE)
    (tmp_path / "a.npy").chmod(0)
    with pytest.raises(convolume.InputNotFound) as failed:
        convolume.open(tmp_path / "a.npy")
    check(failed.value, tmp_path / "a.npy", errno.EACCES)
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(convolume.CannotCreate) as failed:
            convolume.save(tmp_path / "b.npy", IMAGE)
        check(failed.value, tmp_path / "b.npy", errno.EACCES)
    finally:
        tmp_path.chmod(0o700)


def test_the_number_is_that_of_the_quoted_reason():
    for code in (errno.EACCES, errno.ENOSPC, errno.EROFS, errno.EISDIR):
        error = convolume.CannotCreate(f"cannot create a.tif: {os.strerror(code)}; choose another folder")
        assert error.errno == code and error.filename is None
    assert convolume.FileFailure("it ended").errno == errno.EIO


def test_errors_while_samples_are_read_and_written(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros((64, 64, 64)))
    image = convolume.open(tmp_path / "a.npy")
    os.truncate(tmp_path / "a.npy", 1000)
    for read in (lambda: image[:], lambda: convolume.save(tmp_path / "b.npy", image)):
        with pytest.raises(convolume.FileFailure, match="shorter") as failed:
            read()
        check(failed.value, tmp_path / "a.npy", errno.EIO)  # the error names the source, not the target
    assert not (tmp_path / "b.npy").exists()


def test_a_full_disk(tmp_path):
    resource = pytest.importorskip("resource")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
    try:
        with pytest.raises(convolume.FileFailure) as failed:
            convolume.save(tmp_path / "a.npy", np.ones((64, 64, 64)))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    check(failed.value, tmp_path / "a.npy", errno.EFBIG)


def test_process(tmp_path):
    pytest.importorskip("tensorstore")
    convolume.save(tmp_path / "a.zarr", IMAGE)
    kernel = np.ones((1, 3, 3))
    with pytest.raises(convolume.OutputExists) as failed:
        convolume.process(IMAGE, tmp_path / "a.zarr", "convolve", kernel=kernel, device="cpu")
    check(failed.value, tmp_path / "a.zarr", errno.EEXIST)
    with pytest.raises(convolume.InputNotFound) as failed:
        convolume.process(tmp_path / "none.tif", tmp_path / "b.zarr", "convolve", kernel=kernel, device="cpu")
    check(failed.value, tmp_path / "none.tif", errno.ENOENT)
    (tmp_path / "file").touch()
    with pytest.raises(convolume.CannotCreate) as failed:
        convolume.process(IMAGE, tmp_path / "file" / "b.zarr", "convolve", kernel=kernel, device="cpu")
    check(failed.value, tmp_path / "file" / "b.zarr", errno.ENOTDIR)
    image = convolume.open(tmp_path / "a.zarr")
    shutil.rmtree(tmp_path / "a.zarr")
    with pytest.raises(convolume.BlocksFailed, match="is gone"):
        convolume.process(image, tmp_path / "c.zarr", "convolve", kernel=kernel, device="cpu")


def test_signals_are_no_image(tmp_path):
    wavfile = pytest.importorskip("scipy.io.wavfile")
    wavfile.write(tmp_path / "a.wav", 8000, np.zeros(100, np.int16))
    with pytest.raises(convolume.BadData, match="is a WAV file, which holds signals and no image; use a command for"):
        convolume.open(tmp_path / "a.wav")
