# SPDX-License-Identifier: Apache-2.0
"""Tests of notes and warnings on assumptions about files, of files with several images, and of channel names. tifffile
and zarr-python write the files."""

import contextlib
import json
import subprocess
import sys
import warnings

import numpy as np
import pytest

import convolume
from convolume import process_command

tifffile = pytest.importorskip("tifffile")


@contextlib.contextmanager
def silence():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def noted(path, **options):
    """Opens an image that has notes, and checks that each is a warning."""
    with pytest.warns(convolume.ConvolumeWarning) as caught:
        image = convolume.open(path, **options)
    assert [str(one.message) for one in caught] == [f'"{path}": {note}' for note in image.notes] and image.notes
    assert {one.filename for one in caught} == {__file__}
    return image


# Files with several images.

@pytest.fixture
def two_images(tmp_path):
    path = tmp_path / "two.ome.tif"
    with tifffile.TiffWriter(path, ome=True) as file:
        for number, name in enumerate(("overview", "detail")):
            file.write(np.full((3, 8 + number, 9), number + 1, np.uint16), metadata={"axes": "ZYX", "Name": name})
    return path


def test_images_of_a_file(two_images):
    first = noted(two_images)
    assert (first.image, first.images, first.shape) == (0, 2, (3, 8, 9))
    assert any("2 images" in note for note in first.notes)
    for chosen in (1, "1", "detail"):
        with silence():
            second = convolume.open(two_images, image=chosen)
        assert (second.image, second.image_name, second.shape) == (1, "detail", (3, 9, 9))
        assert (np.asarray(second) == 2).all()
    with pytest.raises(convolume.InvalidArgument, match="detail"):
        convolume.open(two_images, image="none")


def test_one_image_has_no_notes(tmp_path):
    convolume.save(tmp_path / "a.ome.tif", np.zeros((3, 4, 5), np.uint16), spacing=(0.5, 0.1, 0.1))
    with silence():
        image = convolume.open(tmp_path / "a.ome.tif")
    assert (image.notes, image.image, image.images) == ([], 0, 1)
    in_memory = convolume.Image.of_array(np.zeros((3, 4)))
    assert (in_memory.notes, in_memory.image, in_memory.images, in_memory.image_name) == ([], 0, 1, "")


# OME-Zarr.

zarr = pytest.importorskip("zarr")
pytest.importorskip("tensorstore")
VALUES = np.arange(3 * 8 * 9, dtype=np.uint16).reshape(3, 8, 9)


def entries(names="zyx", unit="micrometer"):
    kinds = {"t": "time", "c": "channel"}
    return [{"name": name, "type": kinds.get(name, "space"), **({"unit": unit} if unit and name in "zyx" else {})}
            for name in names]


def group(path, axes, scale=(0.5, 0.1, 0.2), values=VALUES, version="0.5", more=(), **image):
    """Writes an image by zarr-python. With `scale` None it has no scale; `more` are further images of the group."""
    store = zarr.open_group(path, mode="w", zarr_format=3)
    store.create_array("0", data=values)
    transforms = {} if scale is None else {"coordinateTransformations": [{"type": "scale", "scale": list(scale)}]}
    one = {"datasets": [{"path": "0", **transforms}], **({} if axes is None else {"axes": axes}), **image}
    store.attrs["ome"] = {"version": version, "multiscales": [one, *more]}
    return path


@pytest.mark.parametrize("unit,length", [
    ("micrometer", 1), ("micrometre", 1), ("Micrometers", 1), ("micron", 1), ("microns", 1), ("um", 1), (" um ", 1),
    ("\u00b5m", 1), ("\u03bcm", 1), ("nanometer", 1e-3), ("nanometre", 1e-3), ("millimetre", 1e3),
    ("nm", 1e-3), ("millimeter", 1e3), ("mm", 1e3), ("centimeter", 1e4), ("angstrom", 1e-4), ("meter", 1e6)])
def test_units_of_length(tmp_path, unit, length):
    group(tmp_path / "a.zarr", entries(unit=unit))
    with silence():
        image = convolume.open(tmp_path / "a.zarr")
    assert image.spacing == pytest.approx((0.5 * length, 0.1 * length, 0.2 * length))


@pytest.mark.parametrize("unit", ["furlong", "pixel", "second"])
def test_units_that_are_no_length(tmp_path, unit):
    image = noted(group(tmp_path / "a.zarr", entries(unit=unit)))
    assert image.spacing == (None, None, None)
    assert image.notes == [f"the unit '{unit}' of the axis {axis} is not known: the voxel size along {axis} is unknown"
                           for axis in "zyx"]


@pytest.mark.parametrize("unit,seconds", [("second", 1), ("s", 1), ("millisecond", 1e-3), ("ms", 1e-3), ("minutes", 60),
                                          ("hour", 3600)])
def test_units_of_time(tmp_path, unit, seconds):
    axes = entries("tyx")
    axes[0]["unit"] = unit
    with silence():
        image = convolume.open(group(tmp_path / "a.zarr", axes))
    assert image._metadata.frame_interval == pytest.approx(0.5 * seconds)
    axes[0]["unit"] = "fortnight"
    image = noted(group(tmp_path / "b.zarr", axes))
    assert image._metadata.frame_interval is None and image.notes == [
        "the unit 'fortnight' of the axis t is not known: the time between frames is unknown"]


def test_scales_without_units_and_units_without_scales(tmp_path):
    image = noted(group(tmp_path / "a.zarr", entries(unit=None)))
    assert image.spacing == (None, None, None) and len(image.notes) == 3
    assert image.notes[0] == "the axis z has the scale 0.5 and no unit: the voxel size along z is unknown"
    with silence():  # a scale of 1 without unit needs no note
        assert convolume.open(group(tmp_path / "b.zarr", entries(unit=None), (1, 1, 1))).spacing == (None,) * 3
    image = noted(group(tmp_path / "c.zarr", entries(), None))
    assert image.spacing == (None, None, None)  # not 1 µm
    assert image.notes[0] == "the axis z has the unit 'micrometer' and no scale: the voxel size along z is unknown"
    image = noted(group(tmp_path / "d.zarr", entries(), (0, 0.1, 0.2)))
    assert image.spacing == pytest.approx((None, 0.1, 0.2)) and image.notes == [
        "the scale of the axis z is 0: the voxel size along z is unknown"]


def test_what_is_written_has_no_notes(tmp_path):
    """There is no warning with or without voxel sizes, at any level."""
    for number, spacing in enumerate(((0.5, 0.1, 0.1), None, (None, 0.1, 0.1))):
        convolume.save(tmp_path / f"{number}.zarr", VALUES, spacing=spacing, levels=3)
        for level in range(3):
            with silence():
                convolume.open(tmp_path / f"{number}.zarr", level=level)


def test_axes_that_are_named_otherwise(tmp_path):
    lambdas = [{"name": "lambda", "type": "channel"}, *entries("yx")]
    image = noted(group(tmp_path / "a.zarr", lambdas, (1, 0.1, 0.2)))
    assert image.axes == "CYX" and "'lambda' of type channel is read as c" in image.notes[0]
    untyped = [{"name": name, "unit": "micrometer"} for name in "zyx"]
    image = noted(group(tmp_path / "b.zarr", untyped))
    assert image.axes == "ZYX" and image.spacing == pytest.approx((0.5, 0.1, 0.2))
    assert "z, y, x have no type" in image.notes[0]
    image = noted(group(tmp_path / "c.zarr", [{"name": "c", "type": "space"}, *entries("yx")], (1, 0.1, 0.2)))
    assert image.axes == "CYX" and "'c' is of type space" in image.notes[0]
    path = group(tmp_path / "d.zarr", [{"name": "depth", "type": "space", "unit": "micrometer"}, *entries("yx")])
    with pytest.raises(ValueError, match=r"the axis 'depth' is none of t, c, z, y, x.*axes="):
        convolume.open(path)
    with silence():
        image = convolume.open(path, axes="ZYX")
    assert image.axes == "ZYX" and image.spacing == pytest.approx((0.5, 0.1, 0.2))
    np.testing.assert_array_equal(np.asarray(image), VALUES)


def test_images_without_axes(tmp_path):
    five = VALUES[None, None]
    with silence():  # the version or the caller defines the axes
        assert convolume.open(group(tmp_path / "a.zarr", None, None, five, version="0.1")).axes == "TCZYX"
        assert convolume.open(group(tmp_path / "b.zarr", None, None, five, version="0.5"), axes="CTZYX").axes == "TCZYX"
    image = noted(group(tmp_path / "c.zarr", None, None, five, version="0.5"))
    assert image.axes == "TCZYX" and "t, c, z, y, x are assumed" in image.notes[0]
    zarr.create_array(tmp_path / "array", data=VALUES)
    image = noted(tmp_path / "array")
    assert image.axes == "ZYX" and image.notes == [
        "the array does not name its axes: z, y, x are assumed; axes=… decides"]
    with silence():
        assert convolume.open(tmp_path / "array", axes="TYX").axes == "TYX"


@pytest.fixture
def two_in_a_group(tmp_path):
    path = tmp_path / "a.zarr"
    second = {"name": "detail", "axes": entries(), "datasets": [
        {"path": "1", "coordinateTransformations": [{"type": "scale", "scale": [3, 2, 1]}]}]}
    group(path, entries(), more=[second], name="overview")
    zarr.open_group(path, mode="r+").create_array("1", data=VALUES + 1)
    return path


def test_images_of_a_group(two_in_a_group):
    image = noted(two_in_a_group)
    assert (image.image, image.images, image.image_name) == (0, 2, "overview")
    assert image.notes == ["the group holds 2 images, of which the first is read; image=… chooses another"]
    for chosen in (1, "1", "detail"):
        with silence():
            image = convolume.open(two_in_a_group, image=chosen)
        assert (image.image, image.images, image.image_name, image.spacing) == (1, 2, "detail", (3, 2, 1))
        np.testing.assert_array_equal(np.asarray(image), VALUES + 1)
    for wrong in (2, -1, "none"):
        with pytest.raises(ValueError, match=r"no image '.*': choose one of 0 \('overview'\), 1 \('detail'\)"):
            convolume.open(two_in_a_group, image=wrong)


def test_process_tells_once_and_chooses(tmp_path, two_in_a_group, capsys):
    kernel = np.ones((1, 1, 1), np.float32)
    with pytest.warns(convolume.ConvolumeWarning) as caught:
        convolume.process(two_in_a_group, tmp_path / "b.zarr", "convolve", kernel=kernel, device="cpu")
    assert len(caught) == 1 and "2 images" in str(caught[0].message)
    np.save(tmp_path / "k.npy", kernel)
    arguments = [str(two_in_a_group), str(tmp_path / "c.zarr"), "--op", "convolve", "--kernel", str(tmp_path / "k.npy"),
                 "--device", "cpu"]
    assert process_command.main([*arguments, "--image", "detail"]) == 0
    assert "warning" not in capsys.readouterr().err
    np.testing.assert_array_equal(np.asarray(convolume.open(tmp_path / "c.zarr")), VALUES + 1)
    assert process_command.main([*arguments, "--resume"]) == 2
    assert "begun with image \"detail\" and is now asked for without image" in capsys.readouterr().err
    assert process_command.main([*arguments, "--overwrite"]) == 0
    assert capsys.readouterr().err.count("convolume: warning: \"") == 1


def test_info_prints_notes(two_in_a_group):
    def info(*words):
        command = [sys.executable, "-m", "convolume.zarr_command", "info", str(two_in_a_group), *words]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    output = info()
    assert "images in the file: 2\nimage: 0 (overview)\n" in output and "\nnote: the group holds 2 images" in output
    facts = json.loads(info("--json"))
    output = info("--image", "detail", "--axes=TYX")
    assert "image: 1 (detail)\n" in output and "axes: TYX\n" in output and "note: the group" not in output
    assert facts["images_in_file"] == 2 and facts["image"] == {"number": 0, "name": "overview"} and facts["notes"]


# Tests of channel names.

HOLD_NAMES = ["a.ome.tif", "a.tif", "a.zarr"]  # formats whose files have names of channels
NAMES = ["DAPI", "GFP 488 nm", "µ-tubulin"]


@pytest.mark.parametrize("name", HOLD_NAMES)
def test_names_of_channels(tmp_path, name):
    values = np.zeros((3, 4, 5, 6), np.uint16)
    convolume.save(tmp_path / name, values, axes="CZYX", channel_names=NAMES)
    read = convolume.open(tmp_path / name)
    assert read.channel_names == NAMES
    folder = tmp_path / "again"
    folder.mkdir()
    for other in HOLD_NAMES:
        convolume.save(folder / other, read)
        assert convolume.open(folder / other).channel_names == NAMES, other
        convolume.save(folder / other, values + 1, axes="CZYX", like=read, channel_names=list("abc"), overwrite=True)
        assert convolume.open(folder / other).channel_names == list("abc"), other


def test_names_of_channels_for_others(tmp_path):
    values = np.zeros((3, 5, 6), np.uint16)
    for name in HOLD_NAMES:
        convolume.save(tmp_path / name, values, axes="CYX", channel_names=NAMES)
    channels = tifffile.xml2dict(tifffile.TiffFile(tmp_path / "a.ome.tif").ome_metadata)["OME"]["Image"]["Pixels"]
    assert [one["Name"] for one in channels["Channel"]] == NAMES
    ome = zarr.open_group(tmp_path / "a.zarr", mode="r").attrs["ome"]
    assert [one["label"] for one in ome["omero"]["channels"]] == NAMES


def test_names_that_do_not_fit(tmp_path):
    values = np.zeros((3, 5, 6), np.uint16)
    for axes, names in (("CYX", ["a", "b"]), ("ZYX", NAMES)):
        with pytest.raises(ValueError, match=f"{len(names)} channel names for {3 if axes == 'CYX' else 1} channels"):
            convolume.save(tmp_path / "a.ome.tif", values, axes=axes, channel_names=names)
        with pytest.raises(ValueError, match="channel names for"):
            convolume.Image.of_array(values, axes=axes, channel_names=names)
    assert not list(tmp_path.iterdir())
