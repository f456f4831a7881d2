# SPDX-License-Identifier: Apache-2.0
"""From a stage scan of a light-sheet microscope, with two channels and times, to the deconvolved and deskewed image, on
two workers of Dask. The run is killed, and goes on."""

import subprocess
import sys
import time

import numpy as np

import convolume

angle, step, pixel = 31.5, 0.4, 0.108
channels = {"GFP": 0.52, "RFP": 0.6}  # wavelengths of the emitted light in µm
optics = {"na": 1.1, "ni": 1.33, "modality": "light-sheet", "sheet_fwhm": 1.0, "spacing": (step, pixel, pixel),
          "shape": (13, 57, 25), "scan_angle": angle}
psfs = {name: convolume.make_psf(wavelength=wavelength, **optics) for name, wavelength in channels.items()}

# Simulates the recording of a known specimen, in the voxels of the scan.
scan = {"angle": angle, "step": step, "pixel": pixel}
straight = [convolume.Phantom((24, 72, 64), (step * np.sin(np.radians(angle)), pixel, pixel), kind="filaments",
                               count=12, radius=0.2, brightness=2000, seed=seed)[:] for seed in (1, 2)]
specimens = [convolume.deskew(specimen, **scan, inverse=True) for specimen in straight]
light = [convolume.convolve(specimen, psf) for specimen, psf in zip(specimens, psfs.values())]
recorded = [[convolume.Camera(seed=frame).expose(one) for one in light] for frame in range(2)]
convolume.save("scan.zarr", convolume.Image.of_array(np.array(recorded), axes="TCZYX", spacing=(step, pixel, pixel),
                                                     channel_names=list(channels)))
for name, psf in psfs.items():
    convolume.save(f"{name}.tif", psf)


command = [sys.executable, "-m", "convolume.process_command"]  # which `convolume process` runs
run = ["--dask", "local:2", "--device", "cpu", "--resume", "--quiet"]
restore = [*command, "scan.zarr", "sharp.zarr", "--op", "deconvolve", "--iterations", "20", "--block", "24,48,64", *run]
for name in channels:
    restore += ["--psf", f"{name}={name}.tif"]


def blocks_done(target):
    try:
        return convolume.process_status(target)["done"]
    except (convolume.Error, OSError):  # no run has begun it
        return 0


# Deconvolves the scan in its own voxels. The first run is killed when some blocks are done, and the second goes on.
first = subprocess.Popen(restore, stderr=subprocess.DEVNULL)
while first.poll() is None and blocks_done("sharp.zarr") < 2:
    time.sleep(0.05)
first.kill()
first.wait()
begun = blocks_done("sharp.zarr")
subprocess.run(restore, check=True)
print(f"{begun} blocks were done when the run was killed, {blocks_done('sharp.zarr')} in the end")

# Brings the result to the frame of the camera: a block needs the part of the scan that it is made of.
subprocess.run([*command, "sharp.zarr", "cells.zarr", "--op", "deskew", "--angle", f"{angle}", "--step", f"{step}um",
                "--block", "24,64,64", *run], check=True)


def likeness(a, b):
    return np.corrcoef(np.ravel(a), np.ravel(b))[0, 1]


cells, blurred = convolume.open("cells.zarr"), convolume.deskew(convolume.open("scan.zarr"), **scan)
assert cells.axes == "TCZYX" and cells.channel_names == list(channels) and cells.shape == blurred.shape
for number, specimen in enumerate(specimens):
    truth = convolume.deskew(specimen, **scan)
    before, after = (likeness(image[1, number], truth) for image in (blurred, cells))
    print(f"likeness to the specimen: {before:.2f} deskewed, {after:.2f} deconvolved and deskewed")
    assert after > before + 0.1
