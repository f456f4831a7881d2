# SPDX-License-Identifier: Apache-2.0
"""OME-TIFF of files of Zeiss (CZI), Nikon (ND2) and Leica (LIF), by the readers of bioio.

vendor_files.py IN OUT.ome.tif [SCENE]; without arguments, a CZI file is made, converted and compared.
"""

import logging
import sys
import warnings

from bioio import BioImage
from bioio_ome_tiff.writers import OmeTiffWriter
from ome_types.model import TiffData

import convolume


def convert(vendor_file, ome_tiff, scene=0):
    vendor = BioImage(vendor_file)  # bioio-czi, bioio-nd2 or bioio-lif reads it
    vendor.set_scene(scene)
    samples = vendor.get_image_data("TCZYX")
    try:
        optics = vendor.ome_metadata  # with NA, indices and wavelengths
    except (NotImplementedError, ValueError):  # not of LIF, and not if the metadata are incomplete
        sizes = vendor.physical_pixel_sizes
        names = [str(name) for name in vendor.channel_names]
        image = convolume.Image.of_array(samples, axes="TCZYX", spacing=(sizes.Z, sizes.Y, sizes.X),
                                         channel_names=names)
        convolume.save(ome_tiff, image)
    else:
        optics.images = optics.images[scene:scene + 1]
        pixels = optics.images[0].pixels
        pixels.size_t, pixels.size_c, pixels.size_z, pixels.size_y, pixels.size_x = samples.shape
        pixels.dimension_order, pixels.tiff_data_blocks = "XYZCT", [TiffData()]  # planes follow in this order
        OmeTiffWriter.save(samples, ome_tiff, dim_order="TCZYX", ome_xml=optics)


def make_czi(path, samples, names, spacing):
    from pylibCZIrw import czi

    with czi.create_czi(path) as file:
        for channel, stack in enumerate(samples):
            for z, plane in enumerate(stack):
                file.write(plane[..., None], plane={"C": channel, "Z": z})
        z, y, x = (1e-6 * size for size in spacing)
        file.write_metadata("cells", channel_names=dict(enumerate(names)), scale_z=z, scale_y=y, scale_x=x)


def main():
    if len(sys.argv) > 2:
        convert(sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 0)
        return
    logging.disable()  # the reader reports which metadata this file lacks
    warnings.simplefilter("ignore")
    spacing, names = (0.3, 0.1, 0.1), ["DAPI", "GFP"]
    samples = [convolume.Camera(seed=seed).expose(convolume.Phantom((6, 48, 64), spacing, seed=seed))
               for seed in (1, 2)]
    make_czi("cells.czi", samples, names, spacing)
    convert("cells.czi", "cells.ome.tif")
    image = convolume.open("cells.ome.tif")
    assert image.shape == (2, 6, 48, 64) and image.channel_names == names
    assert all(abs(found - size) < 1e-9 for found, size in zip(image.spacing, spacing))
    assert all((image[channel] == samples[channel]).all() for channel in range(2))
    print(f"cells.ome.tif has the samples of cells.czi: {image.axes} {image.shape}, voxels of {image.spacing} µm")


if __name__ == "__main__":
    main()
