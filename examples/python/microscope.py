# SPDX-License-Identifier: Apache-2.0
"""A simulated microscope: a specimen whose objects are known, blurred by the optics, recorded by a camera."""

import numpy as np

import convolume

spacing = (0.2, 0.1, 0.1)  # z, y, x in µm
optics = {"na": 1.2, "ni": 1.33, "wavelength": 0.52}

facts = convolume.psf_facts(**optics)
assert spacing[2] <= facts["nyquist_lateral"]  # the pixels are small enough to keep all detail

psf = convolume.make_psf(**optics, spacing=spacing, shape=(31, 63, 63))
specimen = convolume.Phantom((32, 128, 128), spacing, kind="mixed", count=12, seed=4)
light = convolume.convolve(specimen, psf, boundary="zero")
camera = convolume.Camera(background_photons=5, seed=1)
image = camera.expose(light)
print(f"brightest voxel {camera.report['peak_photons']:.0f} photons, signal to noise "
      f"{camera.report['signal_to_noise_db']:.1f} dB")

# The optics spread light and add none. Missing light has left the image.
emitted = np.asarray(specimen).sum(dtype=np.float64)
assert 0.6 * emitted < light.sum(dtype=np.float64) <= 1.0001 * emitted
assert image.dtype == np.uint16 and light.max() < np.asarray(specimen).max()

convolume.save("image.ome.tif", image, spacing=spacing)
assert convolume.open("image.ome.tif").spacing == spacing
