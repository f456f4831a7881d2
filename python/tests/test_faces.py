# SPDX-License-Identifier: Apache-2.0
"""Tests that the command, Python and convolume.process answer alike: results bit by bit, warnings and errors word by
word, but for the names of options."""

import os
import re
import shlex
import shutil
import subprocess
import warnings

import numpy as np
import pytest

import convolume
from convolume import _core

COMMAND = os.environ.get("CONVOLUME_TEST_COMMAND") or shutil.which("convolume")
pytestmark = pytest.mark.skipif(COMMAND is None, reason="the command is not here")

OTHER_FLAGS = {"dtype": "--output-type", "device": "--device", "spacing": "--voxel", "pixel": "--pixel",
               "opposite": "--opposite-scan", "rotate": "--rotate", "inverse": "--inverse", "nan": "--nan",
               "saturation": "--saturation", "no_data": "--no-data", "hot_pixels": "--hot-pixels", "kernel": "--psf",
               "axes": "--axes", "output_spacing": "--output-voxel"}
EXIT_CODES = {convolume.BadData: 65, convolume.InputNotFound: 66, convolume.OutputExists: 5,
              convolume.InvalidArgument: 2}


def flags():
    """Returns the command's flag of each keyword."""
    found = dict(OTHER_FLAGS)
    for table in ("Options", "DeconvolveOptions", "DeskewOptions", "Engines"):
        for option in _core.describe_options(table):
            flag = option["flags"].split(",")[0]
            if option["keyword"] and flag.startswith("--"):
                found.setdefault(option["keyword"], flag)
    return found


FLAGS = flags()


@pytest.fixture(scope="module", autouse=True)
def files(tmp_path_factory):
    """Writes the images and kernels of all cases, and works in their folder."""
    folder = tmp_path_factory.mktemp("faces")
    random = np.random.default_rng(7)
    before = os.getcwd()
    os.chdir(folder)
    spacing = 0.3, 0.1, 0.1
    image = random.poisson(200, (6, 20, 24)).astype(np.uint16)
    image[2:4, 5:9, 6:9] += 900
    convolume.save("image.tif", image, spacing=spacing)
    convolume.save("float.tif", image.astype(np.float32), spacing=spacing)
    convolume.save("channels.ome.tif", np.stack([image, image[::-1]]), axes="CZYX", channel_names=["DAPI", "GFP"],
                   spacing=spacing)
    holes = image.astype(np.float32)
    holes[1, 3, 4], holes[5, 6, 7] = np.nan, np.inf
    convolume.save("holes.tif", holes, spacing=spacing)
    convolume.save("negative.tif", image.astype(np.float32) - 205, spacing=spacing)
    convolume.save("complex.tif", (image + 1j).astype(np.complex64), spacing=spacing)
    convolume.save("unknown.npy", image)
    convolume.save("scan.tif", image, spacing=(0.2, 0.1, 0.1))
    convolume.save("plane.tif", image[:1], spacing=spacing)
    saturated = np.minimum(image, 255).astype(np.uint8)
    convolume.save("saturated.tif", saturated, spacing=spacing)
    z, y, x = np.ogrid[-2:3, -3:4, -3:4]
    psf = np.exp(-(z**2 + y**2 + x**2) / 3).astype(np.float32)
    convolume.save("psf.tif", psf, spacing=spacing)
    kernels = {"even": random.random((2, 4, 4)).astype(np.float32), "corner": np.fft.ifftshift(psf),
               "moved": np.roll(np.pad(psf, ((0, 0), (4, 4), (4, 4))), 3, 2), "dips": psf - np.float32(0.01),
               "zeros": np.zeros((3, 3, 3), np.float32)}
    for name, kernel in kernels.items():
        convolume.save(f"{name}.tif", kernel, spacing=spacing)
    convolume.save("coarse.tif", psf, spacing=(0.3, 0.2, 0.2))
    yield folder
    os.chdir(before)


def words_of(keywords):
    """Returns the command's options for keywords of Python."""
    words = []
    for keyword, value in keywords.items():
        if keyword == "cval":
            continue
        if keyword == "boundary" and "cval" in keywords:
            value = f"{value}:{keywords['cval']}"
        if isinstance(value, dict):
            words += [word for channel, path in value.items()
                      for word in (FLAGS[keyword], f"{channel}={path}" if channel else path)]
        elif isinstance(value, list):
            words += [word for path in value for word in (FLAGS[keyword], path)]
        elif value is True:
            words.append(FLAGS[keyword])
        else:
            text = ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
            words += [FLAGS[keyword], "off" if value is None else text]
    return words


def in_words_of_python(text):
    """Returns a sentence with keywords in place of flags, without advice that only the command gives and names of
    files, which arrays do not have."""
    for keyword, flag in sorted(FLAGS.items(), key=lambda one: -len(one[1])):
        text = re.sub(rf"{flag}\b(?!-)", keyword, text)
    return without_names(text.replace("; for several images, give --output-dir in place of -o", ""))


def without_names(text):
    """Returns a sentence without names of files and folders."""
    text = re.sub(r'the (image|PSF|kernel) "[^"]*"', r"the \1", " ".join(text.split()))
    text = text.replace("the kernel is in FFT order", "the PSF is in FFT order")
    return re.sub(r'"[^"]*?([^/"]*)"', r'"\1"', text)


def answer_of_command(command, inputs, keywords):
    """Returns the result, the warnings and the error of the command: its exit code and its sentence."""
    usual = {"convolve": {"normalize": "none"} | DEVICE, "deconvolve": DEVICE}.get(command, {})
    words = [COMMAND, command, *inputs, *words_of(usual | keywords), "-q", "--overwrite", "-o", "out.npy"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    lines = [in_words_of_python(line) for line in done.stderr.splitlines()]
    found = sorted(line.partition("convolume: warning: ")[2] for line in lines if "convolume: warning: " in line)
    if done.returncode:
        return None, found, (done.returncode, lines[-1].partition("convolume: error: ")[2])
    return np.load("out.npy"), found, None


def answer_of(call):
    """Returns the result, the warnings and the error of a function."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result, error = np.asarray(call()), None
        except convolume.Error as raised:
            code = next((code for kind, code in EXIT_CODES.items() if isinstance(raised, kind)), 70)
            result, error = None, (code, without_names(str(raised)))
    return result, sorted(without_names(str(one.message)) for one in caught), error


def _deconvolved(image, psf, **options):
    """Deconvolves an image as convolume.richardson_lucy() and the functions of the other methods do."""
    return convolume.Deconvolver(image.shape, psf, spacing=image.spacing, **options)(image)


def answer_of_python(command, inputs, keywords):
    opened = [convolume.open(one) for one in inputs]
    function = {"convolve": convolume.convolve, "deconvolve": _deconvolved, "deskew": convolume.deskew}[command]
    return answer_of(lambda: function(*opened, **keywords, **({} if command == "deskew" else DEVICE)))


def answer_of_process(command, inputs, keywords):
    pytest.importorskip("tensorstore")
    source, *kernel = inputs
    kernels = {"kernel": kernel[0]} if kernel else {}

    def call():
        convolume.process(source, "out.zarr", command, **kernels, **keywords, **DEVICE, overwrite=True)
        return convolume.open("out.zarr")

    return answer_of(call)


def assert_alike(one, other):
    assert one[2] == other[2]
    if one[0] is not None:
        assert one[1] == other[1]
        assert one[0].dtype == other[0].dtype and one[0].shape == other[0].shape
        assert one[0].tobytes() == other[0].tobytes()


DEVICE = {"device": "cpu"}
SCAN = {"angle": 30, "step": "400nm"}
IN_CORE = {"method": "in-core"}  # plans for files and for arrays may choose other methods, which round differently
CONVOLVED = [
    *((f"image.tif {kernel}", {"boundary": boundary}) for kernel in ("psf.tif", "even.tif")
      for boundary in ("zero", "nearest", "reflect", "mirror", "wrap")),
    ("image.tif psf.tif", {"boundary": "constant", "cval": 7.5}),
    *(("image.tif psf.tif", {"mode": mode}) for mode in ("full", "valid")),
    *(("image.tif even.tif", {"origin": origin}) for origin in ("middle", "scipy", "peak", "centroid", (0, 1, 3))),
    *(("image.tif psf.tif", {"normalize": normalize}) for normalize in ("sum", "peak")),
    *(("image.tif psf.tif", {"method": method}) for method in ("direct", "tiled")),
    ("image.tif psf.tif", {"precision": "float64"}), ("complex.tif psf.tif", {}), ("float.tif even.tif", {}),
    *(("holes.tif psf.tif", {"nan": nan}) for nan in ("zero", "propagate", "missing")),
    ("image.tif psf.tif", {"dtype": "uint8"}), ("negative.tif psf.tif", {"dtype": "uint8"}),
    ("holes.tif psf.tif", {"nan": "zero", "dtype": "uint8"}),
    ("image.tif coarse.tif", {}),
    # errors
    ("image.tif zeros.tif", {}), ("image.tif psf.tif", {"boundary": "constant", "cval": "nan"}),
    ("complex.tif psf.tif", {"dtype": "uint8"}), ("image.tif psf.tif", {"origin": (9, 9, 9)})]
DECONVOLVED = [
    *(("image.tif psf.tif", {"method": method, "iterations": 3, "background": 150})
      for method in ("rl", "rl-tv", "map", "wiener", "wb", "gold", "rlgc")),
    ("image.tif psf.tif", {}), ("image.tif psf.tif", {"iterations": 4}),
    ("image.tif psf.tif", {"iterations": 4, "background": 500}),
    ("image.tif psf.tif", {"iterations": 2, "acceleration": "none", "background": "auto"}),
    *((f"image.tif {psf}", {"iterations": 2, "background": 150})
      for psf in ("moved.tif", "corner.tif", "dips.tif", "coarse.tif")),
    ("image.tif corner.tif", {"iterations": 2, "background": 150, "origin": "corner"}),
    ("negative.tif psf.tif", {"iterations": 2, "background": 0}),
    ("saturated.tif psf.tif", {"iterations": 2, "background": 150}),
    ("holes.tif psf.tif", {"iterations": 2, "background": 150, "nan": "missing"}),
    # errors
    ("complex.tif psf.tif", {"iterations": 2}), ("image.tif zeros.tif", {"iterations": 2}),
    ("image.tif psf.tif", {"iterations": 2, "tv_weight": 0.1})]
DESKEWED = [
    ("scan.tif", {}), ("scan.tif", {"axis": "x"}), ("scan.tif", {"opposite": True}), ("scan.tif", {"rotate": True}),
    ("scan.tif", {"interpolation": "lanczos", "fill": 3}), ("unknown.npy", {"pixel": "100nm"}),
    ("image.tif", {"inverse": True, "step": "600nm"}),
    # warnings and errors
    ("scan.tif", {"step": "900nm"}), ("image.tif", {"inverse": True}), ("unknown.npy", {}),
    ("scan.tif", {"angle": 120}),
    ("complex.tif", {"step": "600nm"}), ("scan.tif", {"inverse": True, "rotate": True})]
CASES = [*(("convolve", inputs, IN_CORE | options) for inputs, options in CONVOLVED),
         *(("deconvolve", *case) for case in DECONVOLVED),
         *(("deskew", inputs, SCAN | options) for inputs, options in DESKEWED)]


@pytest.mark.parametrize(("command", "inputs", "keywords"), CASES, ids=str)
def test_the_command_and_python_answer_alike(command, inputs, keywords):
    inputs = shlex.split(inputs)
    assert_alike(answer_of_command(command, inputs, keywords), answer_of_python(command, inputs, keywords))


CHANNELS = [["psf.tif", "even.tif"], {"DAPI": "psf.tif", "GFP": "even.tif"}, {"gfp": "even.tif", "0": "psf.tif"},
            {"DAPI": "psf.tif", "": "even.tif"}, ["psf.tif"],
            # errors
            ["psf.tif"] * 3, {"Cy5": "psf.tif", "": "even.tif"}, {"DAPI": "psf.tif"},
            {"DAPI": "psf.tif", "0": "even.tif"}]
PROCESSED = [*(("convolve", "channels.ome.tif", {"kernel": kernel}) for kernel in CHANNELS),
             *(("convolve", inputs, {"boundary": "mirror"} | options) for inputs, options in (
                 ("image.tif psf.tif", {}), ("holes.tif psf.tif", {"nan": "zero"}),
                 ("image.tif psf.tif", {"dtype": "uint8"}), ("image.tif coarse.tif", {}))),
             *(("deskew", inputs, SCAN | options) for inputs, options in DESKEWED)]


@pytest.mark.parametrize(("command", "inputs", "keywords"), PROCESSED, ids=str)
def test_the_command_and_process_answer_alike(command, inputs, keywords):
    if keywords.get("inverse"):
        pytest.skip("process has no --inverse")
    inputs = shlex.split(inputs)
    one, other = answer_of_command(command, inputs, keywords), answer_of_process(command, inputs, keywords)
    assert one[1:] == other[1:]
    if one[0] is None:
        return
    assert one[0].dtype == other[0].dtype and one[0].squeeze().shape == other[0].shape
    if command == "deskew":
        assert one[0].tobytes() == other[0].tobytes()
    else:  # blocks have transforms of other lengths
        assert np.abs(one[0].squeeze().astype(float) - other[0]).max() <= 2e-6 * np.abs(one[0]).max()


@pytest.mark.parametrize(("output", "words"), [
    ("image.tif", "is one of the inputs"), ("./image.tif", "is one of the inputs")])
def test_an_output_that_is_an_input(output, words):
    done = subprocess.run([COMMAND, "convolve", "image.tif", "psf.tif", "-o", output, "--overwrite"],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 2 and words in done.stderr
    with pytest.raises(convolume.InvalidArgument, match=words):
        _core.check_not_input(output, output.removeprefix("./"), lambda path: False)


def test_signals_without_samples():
    words = [COMMAND, "resample", "-", "--raw", "float32", "--up", "2", "-q", "-o", "more.npy"]
    done = subprocess.run(words, input=b"", capture_output=True, check=False)
    with pytest.raises(convolume.BadData) as raised:
        convolume.signal.resample_poly(np.zeros(0, np.float32), 2, 1)
    assert done.returncode == 65 and done.stderr.decode() == f"convolume: error: {raised.value}\n"


@pytest.mark.parametrize(("words", "keywords"), [
    ("--wavelength 520nm", {"wavelength": "520nm"}), ("--wavelength 520nm --ng 1.6", {"wavelength": 0.52, "ng": 1.6}),
    ("--wavelength 520nm --tg 150um --ni 1.4", {"wavelength": 0.52, "tg": "150um", "ni": 1.4}),
    ("--wavelength 520nm --ng 1.6 --ng0 1.5", {"wavelength": 0.52, "ng": 1.6, "ng0": 1.5}),
    ("--modality two-photon --excitation 900nm", {"modality": "two-photon", "excitation": "900nm"})])
def test_psfs_of_the_command_and_of_python(words, keywords):
    subprocess.run([COMMAND, "psf", "--na", "1.2", "--voxel", "200,100,100nm", "--size", "3,7,7", *words.split(), "-q",
                    "--overwrite", "-o", "made.npy"], check=True)
    made = convolume.make_psf(na=1.2, spacing=(0.2, 0.1, 0.1), shape=(3, 7, 7), **keywords)
    assert np.load("made.npy").tobytes() == np.asarray(made).tobytes()
