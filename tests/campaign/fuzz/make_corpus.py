# SPDX-License-Identifier: Apache-2.0
"""Small whole files that fuzzing begins with. make_corpus.py FOLDER: a folder in it for each target."""
import os
import sys
import wave

import h5py
import numpy as np
import tifffile

root = sys.argv[1]
for target in ("tiff", "hdf5", "npy", "wav", "raw", "text"):
    os.makedirs(os.path.join(root, target), exist_ok=True)


def path(target, name):
    return os.path.join(root, target, name)


samples = np.arange(2 * 6 * 5, dtype=np.uint16).reshape(2, 6, 5)
for number, options in enumerate(({"imagej": True, "metadata": {"axes": "ZYX", "spacing": 0.3, "unit": "um"}},
                                  {"ome": True, "metadata": {"axes": "ZYX", "PhysicalSizeX": 0.1}},
                                  {"compression": "zlib"},
                                  {"bigtiff": True}, {"byteorder": ">"}, {"tile": (16, 16)}, {"rowsperstrip": 2},
                                  {"metadata": {"axes": "ZYX"}})):
    tifffile.imwrite(path("tiff", f"{number}.tif"), samples, photometric="minisblack", **options)
for number, options in enumerate(({}, {"chunks": (1, 3, 5)}, {"chunks": (1, 3, 5), "compression": 1},
                                  {"scaleoffset": 0})):
    for version in ("earliest", "latest"):
        with h5py.File(path("hdf5", f"{number}_{version}.h5"), "w", libver=version) as file:
            file.create_dataset("data", data=samples, **options).attrs["element_size_um"] = [0.3, 0.1, 0.1]
for number, dtype in enumerate(("<u2", ">f4", "<f8", "<c8", "<i8")):
    np.save(path("npy", f"{number}.npy"), samples.astype(dtype))
for width in (1, 2, 3):
    with wave.open(path("wav", f"{width}.wav"), "wb") as file:
        file.setparams((2, width, 48000, 0, "NONE", ""))
        file.writeframes(bytes(60 * width))
samples.tofile(path("raw", "a.ci16"))
for number, text in enumerate(("200,65,65nm", "1.5um", "64,256,256", "8G", "reflect", "constant:3", "a.h5:/data",
                               '{"na": 1.2, "wavelength_um": 0.52, "voxel_um": [0.2, 0.1, 0.1], "size": [9, 9, 9]}')):
    with open(path("text", str(number)), "w") as file:
        file.write(text)
