# SPDX-License-Identifier: Apache-2.0
"""Tests of formats of image files that are registered by Python."""

import os
import threading
import zipfile

import numpy as np
import pytest

import convolume
from convolume import _core


class Reader:
    """An image (t, c, z, y, x) in a zip archive of arrays, with the interface of `_core.Reader`."""

    def __init__(self, path):
        with np.load(path) as archive:
            self.values, spacing = archive["image"], archive["spacing"]
        metadata = _core.ImageMetadata()
        metadata.frames, metadata.channels, *shape = self.values.shape
        metadata.shape, metadata.type = tuple(shape), self.values.dtype
        metadata.spacing = tuple(float(length) for length in spacing)
        self.metadata = metadata
        self.piece = (1, *shape[1:])

    def read_box(self, t, c, box, target):
        z0, z1, y0, y1, x0, x1 = box
        target[...] = self.values[t, c, z0:z1, y0:y1, x0:x1]


class Writer:
    def __init__(self, path, metadata):
        self.path, self.spacing = path, [length or 0 for length in metadata.spacing]
        self.values = np.zeros((metadata.frames, metadata.channels, *metadata.shape), metadata.type)
        open(f"{path}.part", "wb").close()

    def write_box(self, t, c, box, source):
        z0, z1, y0, y1, x0, x1 = box
        assert not source.flags.writeable
        self.values[t, c, z0:z1, y0:y1, x0:x1] = source

    def commit(self):
        if self.values.max() > 1e6:
            raise OSError("the toy disk is full")
        np.savez(self.path + ".part", image=self.values, spacing=self.spacing)
        os.remove(f"{self.path}.part")
        os.rename(f"{self.path}.part.npz", self.path)

    def discard(self):
        os.remove(f"{self.path}.part")


def recognizes(path, head):
    return head.startswith(b"PK") and zipfile.is_zipfile(path)


def open_toy(path, options):
    assert set(options) == {"axes", "image"}
    if options["image"]:
        raise convolume.InvalidArgument(f"{path} holds one image")
    return Reader(path)


def create_toy(path, metadata, options):
    if os.path.exists(path) and not options["overwrite"]:
        raise FileExistsError(f"{path} exists")
    return Writer(path, metadata)


@pytest.fixture(autouse=True)
def toy():
    _core.register_format("toy", [".toy"], recognizes, open_toy, create_toy, [".toy2"])
    yield
    _core.register_format("toy", [], None, None)  # reads and writes nothing any more


def test_images_are_opened_convolved_and_saved(tmp_path, random):
    image = random.random((2, 6, 7, 8)).astype(np.float32)
    convolume.save(tmp_path / "a.toy", image, axes="CZYX", spacing=(0.3, 0.1, 0.1))
    assert os.listdir(tmp_path) == ["a.toy"]
    opened = convolume.open(tmp_path / "a.toy")
    assert opened.axes == "CZYX" and opened.spacing == (0.3, 0.1, 0.1) and opened.dtype == np.float32
    np.testing.assert_array_equal(np.asarray(opened), image)
    np.testing.assert_array_equal(opened[1, 2:4, ::-1, 3], image[1, 2:4, ::-1, 3])
    kernel = np.ones((1, 3, 3), np.float32)
    blurred = convolume.convolve(opened, kernel, device="cpu")
    np.testing.assert_allclose(blurred, convolume.convolve(image, kernel, device="cpu"))
    convolume.save(tmp_path / "b.TOY", blurred, like=opened)
    convolume.save(tmp_path / "c.npy", convolume.open(tmp_path / "b.TOY"))
    np.testing.assert_array_equal(np.load(tmp_path / "c.npy")[0], blurred)


def test_files_of_the_format_are_a_stack(tmp_path, random):
    planes = random.random((4, 5, 6)).astype(np.float32)
    for z, plane in enumerate(planes):
        convolume.save(tmp_path / f"z{z}.toy", plane)
    np.testing.assert_array_equal(np.asarray(convolume.open(tmp_path, stack="z")), planes)
    np.testing.assert_array_equal(np.asarray(convolume.open(tmp_path / "z{z}.toy")), planes)


def test_errors_keep_their_sentence(tmp_path):
    zeros = np.zeros((2, 3), np.float32)
    convolume.save(tmp_path / "a.toy", zeros)
    with pytest.raises(convolume.OutputExists, match="a.toy exists"):
        convolume.save(tmp_path / "a.toy", zeros)
    with pytest.raises(convolume.InvalidArgument, match="holds one image"):
        convolume.open(tmp_path / "a.toy", image=3)
    with pytest.raises(convolume.InvalidArgument, match="no dataset"):
        convolume.open(f"{tmp_path}/a.toy:/x")
    with pytest.raises(convolume.FileFailure, match="toy disk is full"):
        convolume.save(tmp_path / "b.toy", zeros + 1e7)
    assert os.listdir(tmp_path) == ["a.toy"]  # nothing is left of b.toy
    (tmp_path / "c.toy").write_bytes(b"QK")
    with pytest.raises(convolume.BadData, match="not a .*toy"):
        convolume.open(tmp_path / "c.toy")
    with pytest.raises(convolume.InvalidArgument, match=r"use .*\.toy"):
        convolume.save(tmp_path / "a.none", zeros)


def test_faults_of_the_functions_reach_the_caller(tmp_path):
    convolume.save(tmp_path / "a.toy", np.zeros((2, 3), np.float32))
    _core.register_format("toy", [], recognizes, lambda path, options: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        convolume.open(tmp_path / "a.toy")
    _core.register_format("toy", [], lambda path, head: "no", lambda path, options: None)
    with pytest.raises(convolume.InvalidArgument, match="another type"):
        convolume.open(tmp_path / "a.toy")
    for endings, functions in (["toy"], (recognizes, open_toy, create_toy)), ([".toy"], (recognizes, open_toy)), \
            ([], (recognizes, None)):
        with pytest.raises(convolume.InvalidArgument, match="image format toy"):
            _core.register_format("toy", endings, *functions)


def test_folders_and_urls_are_formats_of_their_own(tmp_path):
    image = np.arange(6, dtype=np.uint8).reshape(2, 3)

    class InMemory(Reader):
        def __init__(self):
            self.values = image[None, None, None]
            self.metadata = convolume.Image.of_array(image)._metadata

    asked = []

    def opens(path, options):
        asked.append(path)
        return InMemory()

    _core.register_format("toy", [], lambda path, head: not head and path.endswith((".folder", "toy://x/y.z")), opens)
    (tmp_path / "a.folder").mkdir()
    for name in (str(tmp_path / "a.folder"), "toy://x/y.z"):
        reader = _core.Reader(name)
        target = np.empty((1, 2, 3), np.uint8)
        reader.read_box(0, 0, (0, 1, 0, 2, 0, 3), target)
        np.testing.assert_array_equal(target[0], image)
        assert asked.pop() == name


def test_threads_read_at_once(tmp_path, random):
    image = random.random((8, 9, 10)).astype(np.float32)
    convolume.save(tmp_path / "a.toy", image)
    opened = convolume.open(tmp_path / "a.toy")
    found = [None] * 8

    def read(z):
        found[z] = opened[z]

    threads = [threading.Thread(target=read, args=(z,)) for z in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    np.testing.assert_array_equal(found, image)
