# SPDX-License-Identifier: Apache-2.0
"""Reads our OME-Zarr with other programs."""
import numpy as np
from readers import ProgramReading, reader

ZARR = (".zarr",)


def scale_of(transforms, axes):
    """Returns the voxel size from the coordinate transformations of a level."""
    scale = next(transform["scale"] for transform in transforms if transform["type"] == "scale")
    named = dict(zip(axes, scale))
    return tuple(named.get(axis) for axis in "ZYX")


def real_channel_names(names, made_up):
    """Leaves out the names that a program invents for a file without names."""
    return tuple(name for name in names if name and not name.startswith(made_up))


@reader("ome-zarr", "ome-zarr", ["ome_zarr.reader", "convolume"], ZARR)
def read_ome_zarr(path):
    from ome_zarr.io import parse_url
    from ome_zarr.reader import Reader

    node = next(iter(Reader(parse_url(str(path)))()))
    axes = "".join(axis["name"] for axis in node.metadata["axes"]).upper()
    names = real_channel_names(node.metadata.get("channel_names") or node.metadata.get("name") or (), "channel_")
    return ProgramReading(np.asarray(node.data[0]), axes,
                        scale_of(node.metadata["coordinateTransformations"][0], axes), names)


@reader("ngff-zarr", "ngff-zarr", ["ngff_zarr", "convolume"], ZARR)
def read_ngff_zarr(path):
    import ngff_zarr

    image = ngff_zarr.from_ngff_zarr(str(path)).images[0]
    axes = "".join(image.dims).upper()
    voxel = tuple(image.scale.get(axis) if axis in image.dims else None for axis in "zyx")
    return ProgramReading(np.asarray(image.data), axes, voxel)


@reader("bioio-ome-zarr", "bioio-ome-zarr", ["bioio", "bioio_ome_zarr", "convolume"], ZARR)
def read_bioio_zarr(path):
    import bioio
    import bioio_ome_zarr

    image = bioio.BioImage(str(path), reader=bioio_ome_zarr.Reader)
    names = real_channel_names(image.channel_names, "Channel:")
    return ProgramReading(image.data, image.dims.order, tuple(image.physical_pixel_sizes), names)


@reader("ome-zarr-models", "ome-zarr-models", ["ome_zarr_models", "convolume", "zarr"], ZARR)
def validate_zarr(path):
    import ome_zarr_models
    import zarr

    ome_zarr_models.open_ome_zarr(zarr.open_group(str(path), mode="r"))
    return ProgramReading(None)


@reader("tensorstore", "tensorstore", ["tensorstore", "convolume"], ZARR)
def read_tensorstore(path):
    import tensorstore

    level = path / "0"
    driver = "zarr3" if (level / "zarr.json").exists() else "zarr"
    return ProgramReading(tensorstore.open({"driver": driver, "kvstore": f"file://{level}/"}).result().read().result())
