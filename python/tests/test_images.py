# SPDX-License-Identifier: Apache-2.0
"""Tests of images and PSFs as arrays: conversion, arithmetic, sums, pickling; and of arrays of other libraries."""

import pickle
import subprocess
import sys

import numpy as np
import pytest

import convolume

PSF = {"na": 1.2, "ni": 1.33, "wavelength": 0.52, "spacing": (0.2, 0.1, 0.1), "shape": (5, 7, 7)}


@pytest.fixture
def psf():
    return convolume.make_psf(**PSF)


def test_arithmetic(psf):
    values = np.asarray(psf)
    half = psf / (2 * psf.sum())
    assert isinstance(half, convolume.Image) and half.spacing == psf.spacing and half.axes == psf.axes
    assert half.sum() == pytest.approx(0.5)
    np.testing.assert_array_equal(psf - 1, values - 1)
    np.testing.assert_array_equal(1 - psf, 1 - values)
    np.testing.assert_array_equal(np.sqrt(psf), np.sqrt(values))
    assert type(psf > 0) is np.ndarray and type(np.add.reduce(psf)) is np.ndarray
    assert type(psf + np.ones((2, 1, 1, 1))) is np.ndarray  # has another shape
    other = convolume.Image.of_array(values, spacing=(1, 1, 1))
    assert type(psf + other) is np.ndarray and isinstance(psf + psf, convolume.Image)
    assert (psf.mean(), psf.std(), psf.min(), psf.max()) == (values.mean(), values.std(), values.min(), values.max())
    assert psf.sum(axis=(1, 2)).shape == (5,) and psf.astype(np.float64).dtype == np.float64
    specimen = convolume.Phantom((4, 8, 8), seed=2)
    np.testing.assert_array_equal(specimen * 2, np.asarray(specimen) * 2)
    assert specimen.sum() == np.asarray(specimen).sum()


def test_conversion_copies_as_numpy_asks(psf, tmp_path):
    values = np.asarray(psf)
    assert np.shares_memory(values, np.asarray(psf))
    assert not np.shares_memory(values, np.array(psf))
    if int(np.__version__.partition(".")[0]) >= 2:
        assert np.shares_memory(np.array(psf, copy=False), values)
        with pytest.raises(ValueError, match="copy"):
            np.array(psf, np.float64, copy=False)
    convolume.save(tmp_path / "a.npy", values)
    read = convolume.open(tmp_path / "a.npy")
    assert np.array(read, np.float64).dtype == np.float64
    with pytest.raises(ValueError, match="copy"):
        read.__array__(copy=False)


def test_pickled_images(psf, tmp_path, monkeypatch):
    again = pickle.loads(pickle.dumps(psf))
    np.testing.assert_array_equal(again, psf)
    assert (again.axes, again.spacing) == (psf.axes, psf.spacing)
    monkeypatch.chdir(tmp_path)
    convolume.save("a.ome.tif", np.ones((2, 4, 5), np.uint8), axes="CYX", channel_names=["a", "b"], spacing=(0.2, 0.1))
    opened = convolume.open("a.ome.tif")
    scaled = pickle.loads(pickle.dumps(opened * 2))
    data = pickle.dumps(opened)
    monkeypatch.chdir("/")
    again = pickle.loads(data)
    np.testing.assert_array_equal(again, opened)
    for one in (again, scaled):
        assert (one.channel_names, one.axes, one.spacing) == (["a", "b"], "CYX", (0.2, 0.1))


def test_pickled_plans(psf, random):
    image = random.poisson(20.0, (8, 16, 16)).astype(np.float32)
    fine = convolume.make_psf(**{**PSF, "spacing": (0.1, 0.05, 0.05)})
    for plan in (convolume.Deconvolver(image.shape, psf, iterations=3, device="cpu"),
                 convolume.Deconvolver(image.shape, fine, iterations=3, spacing=PSF["spacing"], device="cpu"),
                 convolume.Convolver(image.shape, psf, device="cpu")):
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(plan))(image), plan(image))
    specimen = convolume.Phantom((4, 8, 8), kind="beads", count=2)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(specimen)), specimen)


class Tensor:
    """An array of another library in host memory, which NumPy can share."""

    def __init__(self, values, interface):
        self.values = values
        if interface == "array":
            self.__array_interface__ = values.__array_interface__
        else:
            self.__dlpack__, self.__dlpack_device__ = values.__dlpack__, values.__dlpack_device__


@pytest.mark.parametrize("interface", ["array", "dlpack"])
def test_results_in_arrays_of_other_libraries(interface):
    image, kernel = np.arange(20.0).reshape(4, 5), np.ones((3, 3))
    want = convolume.convolve(image, kernel, device="cpu")
    out = Tensor(np.zeros((4, 5)), interface)
    assert convolume.convolve(image, kernel, out=out, device="cpu") is out
    np.testing.assert_array_equal(out.values, want)
    with pytest.raises(convolume.InvalidArgument, match="out is a list"):
        convolume.convolve(image, kernel, out=[0.0], device="cpu")


def test_results_in_tensors():
    torch = pytest.importorskip("torch")
    image, psf = np.full((8, 8), 5.0), np.ones((3, 3)) / 9
    out = torch.zeros((8, 8))
    assert convolume.richardson_lucy(image, psf, 3, out=out, device="cpu") is out
    np.testing.assert_array_equal(out.numpy(), convolume.richardson_lucy(image, psf, 3, device="cpu"))


@pytest.mark.parametrize("name", ["a.tif", "a.npy", "a.h5"])
def test_integers_of_64_bits_stay_integers(tmp_path, name):
    labels = np.array([[0, 70000], [-3, 5]])
    convolume.save(tmp_path / name, labels)
    read = convolume.open(tmp_path / name)
    assert read.dtype == np.int32
    np.testing.assert_array_equal(np.squeeze(read), labels)
    convolume.save(tmp_path / name, labels.clip(0) + 2**31, overwrite=True)
    assert convolume.open(tmp_path / name).dtype == np.uint32
    with pytest.raises(convolume.InvalidArgument, match="which integers of 32 bits do not hold"):
        convolume.save(tmp_path / "b.npy", labels * 2**20)
    assert not (tmp_path / "b.npy").exists()


def test_metadata_of_a_file_by_its_name(tmp_path):
    first = np.zeros((2, 4, 5), np.uint8)
    convolume.save(tmp_path / "m.tif", first, axes="CYX", spacing=(0.2, 0.1), channel_names=["a", "b"])
    convolume.save(tmp_path / "b.tif", first, axes="CYX", like=str(tmp_path / "m.tif"))
    read = convolume.open(tmp_path / "b.tif")
    assert read.channel_names == ["a", "b"] and read.spacing == pytest.approx((0.2, 0.1))
    with pytest.raises(FileNotFoundError, match="none.tif"):
        convolume.save(tmp_path / "c.tif", first, like=tmp_path / "none.tif")


def test_lists_that_are_no_array_are_refused_beside_an_image_that_they_are_like(tmp_path):
    like = convolume.Image.of_array(np.zeros((2, 3, 4), np.float32))
    with pytest.raises(convolume.InvalidArgument, match="the image is no array of numbers"):
        convolume.save(tmp_path / "a.zarr", [np.zeros((2, 3, 4)), np.zeros((2, 5, 4))], like=like)


def test_arrays_take_the_axes_of_the_image_that_they_are_like(tmp_path):
    image = convolume.Image.of_array(np.zeros((2, 6, 5), np.uint16), axes="CYX", spacing=(0.2, 0.1),
                                     channel_names=["DAPI", "GFP"])
    convolume.save(tmp_path / "a.ome.tif", np.ones((2, 6, 5), np.float32), like=image)
    saved = convolume.open(tmp_path / "a.ome.tif")
    assert (saved.axes, saved.spacing, saved.channel_names) == ("CYX", (0.2, 0.1), ["DAPI", "GFP"])
    with pytest.warns(convolume.ConvolumeWarning, match="no names are saved"):
        convolume.save(tmp_path / "b.ome.tif", np.ones((3, 6, 5), np.float32), like=image)
    convolume.save(tmp_path / "c.ome.tif", np.ones((2, 6, 5), np.float32), like=image, axes="ZYX", channel_names=["a"])
    assert convolume.open(tmp_path / "c.ome.tif").axes == "ZYX"


def test_an_image_of_an_image():
    image = convolume.Image.of_array(np.zeros((2, 6, 5)), axes="CYX", spacing=(0.2, 0.1), channel_names=["a", "b"])
    again = convolume.Image.of_array(image)
    assert (again.axes, again.spacing, again.channel_names) == (image.axes, image.spacing, ["a", "b"])
    other = convolume.Image.of_array(image, axes="ZYX", spacing=(1, 2, 3))
    assert (other.axes, other.spacing, other.channel_names) == ("ZYX", (1, 2, 3), [])
    for names, spacing in (("ab", None), (["a", "b"], 0.1), (["a", "b"], ("100nm", "100nm"))):
        with pytest.raises(convolume.InvalidArgument, match="give"):
            convolume.Image.of_array(np.zeros((2, 6, 5)), axes="CYX", spacing=spacing, channel_names=names)


def test_arithmetic_in_place_makes_a_new_image(psf):
    before, image = np.asarray(psf).copy(), psf
    image /= image.sum()
    image *= 2
    assert isinstance(image, convolume.Image) and image.spacing == psf.spacing
    assert np.allclose(image, 2 * before / before.sum()) and (np.asarray(psf) == before).all()
    with pytest.raises(TypeError, match="as out"):
        np.add(image, 1, out=image)


def test_dimensions_of_xarray_in_any_order(tmp_path):
    xarray = pytest.importorskip("xarray")
    random = np.random.default_rng(4)
    image = xarray.DataArray(random.random((5, 8, 9)).astype(np.float32), dims=("z", "y", "x"))
    kernel = xarray.DataArray(random.random((3, 2, 5)), dims=("z", "y", "x"))
    want, turned = convolume.convolve(image, kernel, origin=(0, 1, 2)), kernel.transpose("x", "y", "z")
    assert np.array_equal(convolume.convolve(image, turned, origin=(2, 1, 0)), want)
    assert np.array_equal(convolume.convolve(image.transpose("y", "x", "z"), turned, origin=(2, 1, 0)).transpose(
        "z", "y", "x"), want)
    convolume.save(tmp_path / "a.npy", image.transpose("x", "z", "y"))
    assert np.array_equal(np.load(tmp_path / "a.npy"), image)


@pytest.mark.parametrize("name", ["a.npy", "a.tif", "a.h5:/data"])
def test_the_only_image_of_a_file(tmp_path, name):
    path = f"{tmp_path}/{name}"
    convolume.save(path, np.zeros((2, 3, 4), np.uint8))
    assert convolume.open(path, image=0, axes="ZYX").shape == (2, 3, 4)
    for image in (1, -1, "nuclei"):
        with pytest.raises(convolume.InvalidArgument, match=f'has no image "{image}"; it holds one'):
            convolume.open(path, image=image, axes="ZYX")


@pytest.mark.parametrize("call", [
    lambda: convolume.convolve(np.ones(9), [1.0, 2], origin=(0.5,)),
    lambda: convolume.convolve(np.ones((4, 4)), np.ones((2, 2)), origin=0),
    lambda: convolume.Convolver((4.5, 4), np.ones((2, 2))),
    lambda: convolume.Convolver(16, [1.0, 2]),
    lambda: convolume.convolve(np.ones(9, np.float32), [1.0, 2], boundary="constant", cval=1e39, precision="float32"),
    lambda: convolume.channelize(np.ones(64), 8, step=0)])
def test_numbers_that_cannot_be_meant(call):
    with pytest.raises(convolume.InvalidArgument, match=": (give|take) "):
        call()


@pytest.mark.parametrize("stop", [True, False])
def test_a_stop_criterion_is_no_flag(stop):
    with pytest.raises(convolume.InvalidArgument, match="stop is a number or 'auto', not"):
        convolume.richardson_lucy(np.ones((8, 8)), np.ones((3, 3)), 5, stop=stop)


def test_lengths_with_units():
    want = convolume.make_psf(**PSF)
    for wavelength in ("520nm", "0.52 um", "5.2e-4mm", " 520 nm "):
        got = convolume.make_psf(**{**PSF, "wavelength": wavelength, "spacing": ("200nm", 0.1, "0.1µm")})
        np.testing.assert_array_equal(got, want)
    facts = convolume.psf_facts(na=1.2, wavelength="520nm", modality="confocal", excitation="488nm", ni=1.33)
    assert facts == convolume.psf_facts(na=1.2, wavelength=0.52, modality="confocal", excitation=0.488, ni=1.33)
    for wrong in ("520", "nm", "green", "520 pixels"):
        with pytest.raises(convolume.InvalidArgument, match=f'wavelength is a length with its unit .* not "{wrong}"'):
            convolume.make_psf(**{**PSF, "wavelength": wrong})


def test_modules_of_drop_ins_are_attributes():
    program = "import convolume; convolume.signal.convolve, convolume.ndimage.convolve, convolume.restoration.wiener"
    subprocess.run([sys.executable, "-c", program], check=True)
    assert {"signal", "ndimage", "restoration"} <= set(dir(convolume))


@pytest.mark.parametrize(("typed", "meant"), [("num_iter", "iterations"), ("iteration", "iterations"),
                                              ("threads", "workers"), ("backgrund", "background"),
                                              ("n_jobs", "workers"), ("voxel_size", "spacing"), ("bg", "background"),
                                              ("pixel_size", "spacing"), ("output_type", "dtype"),
                                              ("max_host_bytes", "max_host_mem"), ("center", "origin")])
def test_other_names_of_keywords(typed, meant):
    with pytest.raises(TypeError, match=f"unexpected keyword argument '{typed}'; did you mean '{meant}'"):
        convolume.wiener(np.ones((8, 8)), np.ones((3, 3)), **{typed: 3})


def test_errors_of_memory_name_the_keyword():
    image, kernel = np.ones((64, 64, 64)), np.ones((9, 9, 9))
    for call in (lambda: convolume.convolve(image, kernel, max_host_mem=1 << 16, device="cpu"),
                 lambda: convolume.richardson_lucy(image, kernel, 3, max_host_mem=1 << 16, device="cpu")):
        with pytest.raises(convolume.OutOfMemory, match="max_host_mem") as refused:
            call()
        assert "bytes)" not in str(refused.value) and "--" not in str(refused.value)


@pytest.mark.parametrize("is_file", [False, True])
def test_parts_of_an_image_know_their_axes(tmp_path, is_file):
    samples = np.arange(2 * 3 * 4 * 6 * 5, dtype=np.uint16).reshape(2, 3, 4, 6, 5)
    image = convolume.Image.of_array(samples, axes="TCZYX", spacing=(0.3, 0.2, 0.1), channel_names=["a", "b", "c"])
    if is_file:
        convolume.save(tmp_path / "a.ome.tif", image)
        image = convolume.open(tmp_path / "a.ome.tif")
    for key, axes, spacing, names in (
            (0, "CZYX", (0.3, 0.2, 0.1), ["a", "b", "c"]), ((slice(None), 1), "TZYX", (0.3, 0.2, 0.1), ["b"]),
            ((..., 2), "TCZY", (0.3, 0.2), ["a", "b", "c"]), ((1, 2, 3), "YX", (0.2, 0.1), ["c"]),
            ((0, slice(2, 0, -1), slice(None, None, 2), ..., slice(1, 4)), "CZYX", (0.6, 0.2, 0.1), ["c", "b"]),
            ((slice(0, 1), [-1][0], slice(0, 0)), "TZYX", (0.3, 0.2, 0.1), ["c"])):
        part = image[key]
        assert isinstance(part, convolume.Image)
        np.testing.assert_array_equal(part, samples[key])
        assert (part.axes, part.shape, part.channel_names) == (axes, samples[key].shape, names)
        assert part.spacing == pytest.approx(spacing)
    convolume.save(tmp_path / "part.tif", image[:, 1])
    saved = convolume.open(tmp_path / "part.tif")
    assert (saved.axes, saved.shape) == ("TZYX", (2, 4, 6, 5)) and saved.spacing == pytest.approx((0.3, 0.2, 0.1))
    assert image[0, 1, 2, 3, 4] == samples[0, 1, 2, 3, 4] and not isinstance(image[0, 1, 2, 3, 4], convolume.Image)
    with pytest.raises(IndexError, match="out of bounds"):
        image[2]


def test_images_have_the_methods_of_arrays():
    image = convolume.Image.of_array(np.arange(6, dtype=np.float32).reshape(2, 3), spacing=(0.2, 0.1))
    assert image.size == 6 and image.ravel().tolist() == [0, 1, 2, 3, 4, 5] and image.T.shape == (3, 2)
    assert type(image[image > 3]) is np.ndarray and image[image > 3].tolist() == [4, 5]
    np.testing.assert_array_equal(np.from_dlpack(image), image)
    with pytest.raises(AttributeError, match="no attribute 'voxels'"):
        getattr(image, "voxels")  # noqa: B009
