# SPDX-License-Identifier: Apache-2.0
"""Deconvolution of a file with two channels, each with the PSF of its own wavelength, in one call."""

import numpy as np

import convolume

wavelengths = {"DAPI": "461nm", "TRITC": "576nm"}  # wavelengths of the emitted light
spacing, shape = (0.25, 0.1, 0.1), (16, 64, 64)


def psf_of(channel):
    return convolume.make_psf(na=1.2, ni=1.33, wavelength=wavelengths[channel], spacing=spacing, shape=(31, 47, 47))


# Simulates the recording of two known specimens.
specimens = [convolume.Phantom(shape, spacing, kind=kind, count=count, radius=0.4, brightness=20_000, seed=3)
             for kind, count in (("shells", 4), ("filaments", 6))]
light = np.stack([convolume.convolve(specimen, psf_of(name)) for specimen, name in zip(specimens, wavelengths)])
recorded = convolume.Camera(seed=2).expose(light.reshape(-1, *shape[1:])).reshape(light.shape)
convolume.save("cells.ome.tif", convolume.Image.of_array(recorded, axes="CZYX", spacing=spacing,
                                                         channel_names=list(wavelengths)))

# Deconvolves the channels. The result gets the file's metadata.
image = convolume.open("cells.ome.tif")
psfs = [psf_of(name) for name in image.channel_names]
sharp = convolume.richardson_lucy(image, psfs, 15, background="auto")
convolume.save("cells_sharp.ome.tif", convolume.Image.of_array(sharp, axes=image.axes), like=image)


def likeness(a, b):
    return np.corrcoef(np.ravel(a), np.ravel(b))[0, 1]


for specimen, before, after in zip(specimens, recorded, sharp):
    print(f"likeness to the specimen: {likeness(specimen, before):.2f} before, {likeness(specimen, after):.2f} after")
    assert likeness(specimen, after) > likeness(specimen, before) + 0.1
saved = convolume.open("cells_sharp.ome.tif")
assert saved.channel_names == list(wavelengths) and saved.spacing == spacing
