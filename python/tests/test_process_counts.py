# SPDX-License-Identifier: Apache-2.0
"""Tests of the counts of clamped values, and of the places of NaN and infinities, that convolume.process reports,
against SciPy and NumPy on the whole image."""

import json
import os
import subprocess
import sys
import warnings

import numpy as np
import pytest
from process_cases import GRID, gaussian

import convolume
from convolume import _local_engine, process_command

pytest.importorskip("tensorstore")
ndimage = pytest.importorskip("scipy.ndimage")

KERNEL = np.full((3, 3, 3), 2.0, np.float32)
KERNEL[0] = -2.0  # so that values leave the range at both ends


@pytest.fixture
def bright(random):
    return random.integers(0, 60, (20, 75, 90), np.uint16)


@pytest.fixture
def bright_file(tmp_path, bright):
    path = tmp_path / "bright.zarr"
    convolume.save(path, bright, chunks=(8, 32, 32), shards=(8, 64, 64), levels=1)
    return path


def clamped(image, boundary="constant", limits=(0, 255)):
    """Returns the convolution by SciPy in float64. All sums are whole numbers, so that rounding does not matter."""
    exact = ndimage.convolve(image.astype(np.float64), KERNEL.astype(np.float64), mode=boundary)
    return int((exact < limits[0]).sum()), int((exact > limits[1]).sum())


def counts(report):
    return report.clamped_low, report.clamped_high


def process(source, target, op="convolve", **options):
    return convolume.process(source, target, op, **{"kernel": KERNEL, "device": "cpu", "dtype": "uint8", **GRID,
                                                    **options})


def sentence(low, high, dtype="uint8", wider="dtype"):
    return f"{low} values below and {high} above the range of {dtype} were clamped; choose a wider {wider} to keep them"


@pytest.mark.parametrize("boundary", ["zero", "reflect", "wrap"])
def test_clamped_values_are_counted_once(tmp_path, bright, boundary):
    """Clamped values count once, also if several blocks have them in their halos."""
    low, high = clamped(bright, {"zero": "constant"}.get(boundary, boundary))
    assert low > 100 and high > 100
    with pytest.warns(convolume.ConvolumeWarning) as caught:
        report = process(bright, tmp_path / "b.zarr", boundary=boundary)
    assert counts(report) == (low, high) and report.dtype == "uint8"
    assert [str(one.message) for one in caught] == [sentence(low, high)]
    assert caught[0].filename == __file__


def test_nothing_is_told_where_nothing_was_clamped(tmp_path, bright):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert counts(process(bright, tmp_path / "b.zarr", dtype="float32")) == (0, 0)
        assert counts(process(bright, tmp_path / "c.zarr", dtype="int16")) == (0, 0)


def test_counts_of_several_runs(tmp_path, bright_file, bright):
    """The report of the last run counts all blocks, that of a share only its own."""
    target = tmp_path / "b.zarr"
    with pytest.warns(convolume.ConvolumeWarning):
        shares = [process(bright_file, target, block_range=f"{share}/3") for share in range(3)]
    expected = clamped(bright)
    assert tuple(map(sum, zip(*map(counts, shares)))) == expected
    assert all(sum(counts(share)) > 0 for share in shares)
    for _ in range(2):  # the second run computes no block
        with pytest.warns(convolume.ConvolumeWarning) as caught:
            report = process(bright_file, target, resume=True)
        assert report.done == 0 and counts(report) == expected
        assert str(caught[0].message) == sentence(*expected)
    status = convolume.process_status(target)
    assert (status["clamped_low"], status["clamped_high"]) == expected
    # A block that is computed again counts once, and so does one whose shards were lost.
    (target / "0/c/0/0/0").unlink()
    with pytest.warns(convolume.ConvolumeWarning):
        again = process(bright_file, target, resume=True)
    assert again.done == 1 and counts(again) == expected
    # An image that replaces another one has its own counts.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert counts(process(bright_file, target, overwrite=True, dtype="float32")) == (0, 0)


def test_counts_of_workers(tmp_path, bright_file, bright):
    pytest.importorskip("distributed")
    with pytest.warns(convolume.ConvolumeWarning):
        report = process(bright_file, tmp_path / "b.zarr", dask="local:2")
    assert counts(report) == clamped(bright)


def test_counts_with_a_process_that_writes(tmp_path, bright_file, bright, monkeypatch):
    monkeypatch.setattr(_local_engine, "ALONE_SECONDS", 0.0)
    started = []
    monkeypatch.setattr(_local_engine.WriteProcess, "hand_over", noted(_local_engine.WriteProcess.hand_over, started))
    monkeypatch.setattr(_local_engine.WriteProcess, "is_ready", property(wait_until_ready))
    with pytest.warns(convolume.ConvolumeWarning):
        report = process(bright_file, tmp_path / "b.zarr")
    assert len(started) > 10 and counts(report) == clamped(bright)


def noted(function, calls):
    def call(*arguments):
        calls.append(arguments)
        return function(*arguments)

    return call


def wait_until_ready(writer):
    if not writer._is_ready:
        writer._is_ready = writer._receive() == b"ready"
    return True


KILLED = """
import os, sys, convolume
from convolume._zarr_target import ZarrTarget
import test_process_counts as cases

write, written = ZarrTarget.write, []
def write_some(self, level, block, values):
    if len(written) == int(sys.argv[3]):
        os._exit(9)
    written.append(block)
    write(self, level, block, values)
ZarrTarget.write = write_some
cases.process(sys.argv[1], sys.argv[2], resume=True)
"""


def test_counts_after_kills(tmp_path, bright_file, bright):
    """A block counts once, also if a process ends after it wrote the counts and before it wrote the shards."""
    target = tmp_path / "b.zarr"
    for blocks in (0, 5, 5):
        done = subprocess.run([sys.executable, "-c", KILLED, bright_file, target, str(blocks)], cwd=os.path.dirname(
            __file__), capture_output=True, text=True)
        assert done.returncode == 9, done.stderr
    assert 0 < convolume.process_status(target)["done"] < 18
    with pytest.warns(convolume.ConvolumeWarning):
        report = process(bright_file, target, resume=True)
    assert report.complete_before == 10 and counts(report) == clamped(bright)


def test_the_command_tells(tmp_path, bright_file, bright, capsys):
    np.save(tmp_path / "k.npy", KERNEL)
    target = str(tmp_path / "b.zarr")
    arguments = [str(bright_file), target, "--op", "convolve", "--kernel", str(tmp_path / "k.npy"), "--device", "cpu",
                 "--output-type", "uint8"]
    assert process_command.main([*arguments, "-q"]) == 0
    low, high = clamped(bright)
    warning = sentence(low, high, wider="--output-type")
    assert f"convolume: warning: {warning}\n" in capsys.readouterr().err
    assert process_command.main([*arguments, "--resume", "--json", "-q"]) == 0
    output = capsys.readouterr()
    facts = json.loads(output.out)
    assert (facts["clamped_low"], facts["clamped_high"]) == (low, high) and output.err.count(warning) == 1
    assert process_command.main([target, "--status"]) == 0
    assert warning in capsys.readouterr().out


def test_clamped_values_of_functions(tmp_path, bright):
    """Values are clamped from every type that a function may return."""
    for kind in ("int64", "int16", "float32", "float64", "uint64"):
        with pytest.warns(convolume.ConvolumeWarning):
            report = process(bright, tmp_path / f"{kind}.zarr", lambda values, kind=kind: values.astype(kind) * 10 - 50
                             if kind != "uint64" else values.astype(kind) * 10, kernel=None, halo=(1, 1, 1))
        exact = bright.astype(int) * 10 - (0 if kind == "uint64" else 50)
        assert counts(report) == ((exact < 0).sum(), (exact > 255).sum()), kind
        np.testing.assert_array_equal(np.asarray(convolume.open(tmp_path / f"{kind}.zarr")), exact.clip(0, 255))
    with pytest.warns(convolume.ConvolumeWarning):
        report = process(bright, tmp_path / "n.zarr", lambda values: np.where(values > 50, np.nan, 2.5), kernel=None,
                         halo=(0, 0, 0))
    assert counts(report) == (int((bright > 50).sum()), 0)
    result = np.asarray(convolume.open(tmp_path / "n.zarr"))
    np.testing.assert_array_equal(result, np.where(bright > 50, 0, 2))


def test_clamped_values_of_deconvolution(tmp_path, random):
    psf = gaussian((1, 1, 1), (5, 5, 5))
    image = random.poisson(20.0, (12, 64, 64)).astype(np.float32)
    image[6, 30:34, 30:34] = 4000
    options = {"kernel": psf, "iterations": 5, "chunks": (12, 16, 16), "shards": (12, 32, 32), "block": (12, 32, 32),
               "device": "cpu"}
    convolume.process(image, tmp_path / "f.zarr", "deconvolve", **options)
    with pytest.warns(convolume.ConvolumeWarning):
        report = convolume.process(image, tmp_path / "b.zarr", "deconvolve", dtype="uint8", **options)
    exact = np.rint(np.asarray(convolume.open(tmp_path / "f.zarr")))
    assert counts(report) == (0, int((exact > 255).sum())) and report.clamped_high > 0
    np.testing.assert_array_equal(np.asarray(convolume.open(tmp_path / "b.zarr")), exact.clip(0, 255))


# Tests of NaN and infinities.

PLACES = [(2, 40, 50), (15, 0, 0), (0, 74, 89), (7, 31, 63), (8, 32, 64)]  # at corners of the image and of blocks


@pytest.fixture
def with_nan(random):
    image = random.random((20, 75, 90)).astype(np.float32)
    for number, place in enumerate(PLACES):
        image[place] = (np.nan, np.inf, -np.inf)[number % 3]
    return image


def operation(op):
    """Returns an operation with a halo, and its options."""
    if op == "convolve":
        return op, {"kernel": np.ones((5, 5, 7), np.float32)}
    if op == "deconvolve":
        return op, {"kernel": gaussian((1, 1, 1), (5, 5, 5)), "iterations": 2, "background": 0}
    return (lambda values: values * 1), {"halo": (2, 2, 3)}


@pytest.mark.parametrize("op", ["convolve", "deconvolve", "function"])
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("grid", [{}, GRID], ids=["one block", "blocks"])
def test_nan_is_named_by_its_place_in_the_image(tmp_path, random, op, place, grid):
    image = random.random((20, 75, 90)).astype(np.float32)
    image[place] = np.nan
    op, options = operation(op)
    z, y, x = place
    refusal = rf"the image holds nan at t,c,z,y,x = 0,0,{z},{y},{x}: .*nan='zero'"
    with pytest.raises(convolume.BlocksFailed, match=refusal):
        convolume.process(image, tmp_path / "b.zarr", op, nan="error", device="cpu", **options, **grid)


@pytest.mark.parametrize("boundary", ["wrap", "reflect", "mirror", "nearest"])
def test_nan_beyond_the_border_is_named_where_it_is(tmp_path, random, boundary):
    """A NaN near the border counts once, though the continuation of the image repeats it."""
    image = random.random((2, 3, 6, 20, 30)).astype(np.float32)
    image[1, 2, 5, 19, 0] = np.inf
    convolume.save(tmp_path / "a.h5", convolume.Image.of_array(image, axes="TCZYX"))
    with pytest.raises(convolume.BlocksFailed, match="holds inf at t,c,z,y,x = 1,2,5,19,0:") as failed:
        convolume.process(tmp_path / "a.h5", tmp_path / "b.zarr", "convolve", kernel=np.ones((3, 3, 5)), device="cpu",
                          boundary=boundary, block=(6, 16, 16), chunks=(6, 16, 16), shards=(6, 16, 16))
    assert "t 1, c 2" in str(failed.value)


def test_nan_of_a_function_that_convolves(tmp_path, random):
    """An error of a function of the package, which knows the place in the block only, names the place in the image."""
    image = random.random((20, 75, 90)).astype(np.float32)
    image[15, 40, 70] = np.nan
    with pytest.raises(convolume.BlocksFailed, match="holds nan at t,c,z,y,x = 0,0,15,40,70:"):
        convolume.process(image, tmp_path / "b.zarr", lambda v: convolume.convolve(v, np.ones((1, 3, 3)), device="cpu"),
                          halo=(0, 1, 1), **GRID)


@pytest.mark.parametrize("op", ["convolve", "deconvolve", "function"])
def test_nan_is_counted_once(tmp_path, with_nan, op):
    op, options = operation(op)
    target = tmp_path / "b.zarr"
    report = convolume.process(with_nan, target, op, nan="zero", device="cpu", **options, **GRID)
    assert report.nonfinite_inputs == len(PLACES)
    zeros = np.where(np.isfinite(with_nan), with_nan, 0)
    convolume.process(zeros, tmp_path / "c.zarr", op, device="cpu", **options, **GRID)
    np.testing.assert_array_equal(np.asarray(convolume.open(target)), np.asarray(convolume.open(tmp_path / "c.zarr")))
    again = convolume.process(with_nan, target, op, nan="zero", device="cpu", resume=True, **options, **GRID)
    assert again.done == 0 and again.nonfinite_inputs == len(PLACES)
    assert convolume.process_status(target)["nonfinite_inputs"] == len(PLACES)


@pytest.mark.parametrize("boundary", ["zero", "nearest"])
def test_missing_values_are_left_out_of_blocks(tmp_path, with_nan, boundary):
    kernel = gaussian((1, 1, 2), (5, 5, 7))
    report = convolume.process(with_nan, tmp_path / "b.zarr", "convolve", kernel=kernel, nan="missing",
                               boundary=boundary, device="cpu", **GRID)
    assert report.nonfinite_inputs == 0  # none was read as 0
    whole = convolume.convolve(with_nan, kernel, nan="missing", boundary=boundary, device="cpu")
    assert np.isfinite(whole).all()
    np.testing.assert_allclose(np.asarray(convolume.open(tmp_path / "b.zarr")), whole, rtol=1e-5)


def test_nan_of_empty_blocks_and_of_boundaries(tmp_path, with_nan):
    convolume.process(with_nan, tmp_path / "b.zarr", "convolve", kernel=np.ones((5, 5, 7)), nan="zero", threshold=9e9,
                      boundary="wrap", device="cpu", **GRID)
    assert convolume.process_status(tmp_path / "b.zarr")["nonfinite_inputs"] == len(PLACES)


@pytest.mark.parametrize("cval", [np.nan, np.inf])
def test_values_outside_are_finite(tmp_path, bright, cval):
    for op, options in (("convolve", {"kernel": KERNEL}), (lambda values: values, {"halo": (1, 1, 1)})):
        with pytest.raises(convolume.InvalidArgument, match="cval is"):
            convolume.process(bright, tmp_path / "b.zarr", op, boundary="constant", cval=cval, **options)


@pytest.mark.parametrize("cval", [300, -1, 2.5])
def test_values_outside_that_the_image_s_type_has_not(tmp_path, random, cval):
    image = random.integers(0, 250, (5, 40, 40), np.uint8)
    convolume.process(image, tmp_path / "b.zarr", "convolve", kernel=KERNEL, boundary="constant", cval=cval,
                      device="cpu")
    exact = ndimage.convolve(image.astype(np.float64), KERNEL.astype(np.float64), mode="constant", cval=cval)
    assert np.abs(np.asarray(convolume.open(tmp_path / "b.zarr")) - exact).max() <= 2e-6 * np.abs(exact).max()


def test_nan_that_is_kept(tmp_path, with_nan):
    for nan in ({}, {"nan": "propagate"}):
        target = tmp_path / f"{len(nan)}.zarr"
        report = convolume.process(with_nan, target, lambda values: values, halo=(1, 1, 1), device="cpu", **nan, **GRID)
        np.testing.assert_array_equal(np.asarray(convolume.open(target)), with_nan)
        assert report.nonfinite_inputs == 0
    for op, nan, offered in (("deconvolve", "propagate", "nan is error or zero, not \"propagate\""),
                             ("convolve", "no", "error, zero, propagate, missing")):
        with pytest.raises(ValueError, match=offered):
            convolume.process(with_nan, tmp_path / "x.zarr", op, kernel=np.ones((3, 3, 3)), nan=nan)


@pytest.mark.parametrize("nan", ["error", "zero"])
def test_nan_where_a_background_is_found(tmp_path, with_nan, nan):
    options = {"kernel": gaussian((1, 1, 1), (5, 5, 5)), "iterations": 2, "background": "auto", "device": "cpu"}
    if nan == "zero":
        report = convolume.process(with_nan, tmp_path / "b.zarr", "deconvolve", nan=nan, **options, **GRID)
        assert report.nonfinite_inputs == len(PLACES)
        return
    image = np.ones((20, 300, 600), np.float32)  # larger than the part from which the background is estimated
    image[10, 220, 400] = np.nan
    with pytest.raises(ValueError, match="holds nan at t,c,z,y,x = 0,0,10,220,400:"):
        image[:, 200:, 300:] = 5
        image[10, 220, 400] = np.nan
        convolume.process(image, tmp_path / "b.zarr", "deconvolve", nan=nan, **options)


def test_the_command_reads_nan_as_zero(tmp_path, with_nan, capsys):
    np.save(tmp_path / "a.npy", with_nan)
    np.save(tmp_path / "k.npy", np.ones((5, 5, 5), np.float32))
    arguments = [str(tmp_path / "a.npy"), str(tmp_path / "b.zarr"), "--op", "convolve", "--kernel",
                 str(tmp_path / "k.npy"), "--device", "cpu"]
    assert process_command.main(arguments) == 7
    assert "t,c,z,y,x = 0,0,0,74,89" in capsys.readouterr().err  # the first one in the image
    assert process_command.main([*arguments, "--overwrite", "--nan", "zero"]) == 0
    assert (f"convolume: warning: {len(PLACES)} NaN or infinite values of the image were read as 0\n"
            in capsys.readouterr().err)
