# SPDX-License-Identifier: Apache-2.0
"""Writes OME-Zarr with other programs. The Python package reads it."""
from registry import WRITERS
from specimen import NAMES, VOXEL_UM, ForeignFile, Specimen, file_name, make_specimen

SCALE = dict(zip("ZYX", VOXEL_UM))
CASES = (("ZYX", "uint16"), ("ZYX", "float32"), ("CZYX", "uint8"), ("TCZYX", "uint16"))


def channel_colors(names):
    """Returns the `omero` block of OME-Zarr."""
    window = {"start": 0, "end": 255, "min": 0, "max": 255}
    return {"channels": [{"label": name, "color": "00FF00", "active": True, "window": window} for name in names]}


@WRITERS.add("ome-zarr", "ome-zarr", ["ome_zarr.writer", "convolume", "zarr"])
def ome_zarr_files(folder):
    import zarr
    from ome_zarr.format import FormatV04, FormatV05
    from ome_zarr.writer import write_image

    for version, form, zarr_format in (("0.4", FormatV04(), 2), ("0.5", FormatV05(), 3)):
        for axes, dtype in CASES:
            specimen = make_specimen(axes, dtype, names="C" in axes)
            path = file_name(folder, "ome_zarr", version, axes, dtype, extension=".zarr")
            group = zarr.open_group(str(path), mode="w", zarr_format=zarr_format)
            named = {axis.lower(): size for axis, size in SCALE.items()}
            write_image(specimen.arranged(axes), group, axes=axes.lower(), scale_factors=(), fmt=form,
                        scale={axis: named.get(axis, 1.0) for axis in axes.lower()},
                        axes_units=dict.fromkeys(named, "micrometer"))
            if specimen.channel_names:
                omero = {"omero": channel_colors(specimen.channel_names)}
                group.attrs.update({"ome": {**group.attrs["ome"], **omero}} if version == "0.5" else omero)
            yield ForeignFile("ome-zarr", f"OME-Zarr {version}, {axes}, {dtype}", path, specimen)


@WRITERS.add("ngff-zarr", "ngff-zarr", ["ngff_zarr", "convolume"])
def ngff_zarr_files(folder):
    import ngff_zarr

    for version in ("0.4", "0.5"):
        for axes, dtype in CASES:
            specimen = make_specimen(axes, dtype)
            path = file_name(folder, "ngff_zarr", version, axes, dtype, extension=".zarr")
            image = ngff_zarr.to_ngff_image(
                specimen.arranged(axes), dims=list(axes.lower()), scale={a.lower(): s for a, s in SCALE.items()},
                axes_units={a.lower(): "micrometer" for a in SCALE}, name="specimen")
            ngff_zarr.to_ngff_zarr(str(path), ngff_zarr.to_multiscales(image, scale_factors=[]), version=version)
            yield ForeignFile("ngff-zarr", f"OME-Zarr {version}, {axes}, {dtype}", path, specimen)


@WRITERS.add("bioio-ome-zarr", "bioio-ome-zarr", ["bioio_ome_zarr.writers", "convolume"])
def bioio_files(folder):
    from bioio_ome_zarr.writers import Channel, OMEZarrWriter

    for zarr_format in (2, 3):
        for axes, dtype in CASES:
            specimen = make_specimen(axes, dtype, names="C" in axes)
            path = file_name(folder, "bioio_zarr", zarr_format, axes, dtype, extension=".zarr")
            pixels = specimen.arranged(axes)
            channels = [Channel(label=name, color="00FF00") for name in specimen.channel_names] or None
            writer = OMEZarrWriter(
                str(path), pixels.shape, dtype, zarr_format=zarr_format, axes_names=list(axes.lower()),
                axes_types=[{"T": "time", "C": "channel"}.get(axis, "space") for axis in axes], channels=channels,
                axes_units=["micrometer" if axis in SCALE else None for axis in axes],
                physical_pixel_size=[SCALE.get(axis, 1.0) for axis in axes])
            writer.write_full_volume(pixels)
            if zarr_format == 2 and not specimen.channel_names:  # format 2 names a single channel "C:0"
                specimen = Specimen(specimen.pixels, specimen.voxel_um, ("C:0",))
            yield ForeignFile("bioio-ome-zarr", f"Zarr {zarr_format}, {axes}, {dtype}", path, specimen)


@WRITERS.add("ome-writers", "ome-writers", ["ome_writers", "convolume", "zarr"])
def ome_writers_files(folder):
    import ome_writers

    specimen = make_specimen("TCZYX", names=True)
    sizes = dict(zip("TCZYX", specimen.pixels.shape))
    dimensions = []
    for axis in "TCZYX":
        facts = {"scale": SCALE[axis], "unit": "micrometer"} if axis in SCALE else {"type": "time", "unit": "second"}
        if axis == "C":
            facts = {"type": "channel", "coords": [ome_writers.Channel(name=name) for name in NAMES[:sizes["C"]]]}
        dimensions.append(ome_writers.Dimension(name=axis.lower(), count=sizes[axis], **facts))
    path = file_name(folder, "ome_writers_stream", extension=".ome.zarr")
    settings = ome_writers.AcquisitionSettings(root_path=str(path), dimensions=dimensions, dtype="uint16")
    with ome_writers.create_stream(settings) as stream:
        for plane in specimen.arranged("TCZYX").reshape(-1, *specimen.pixels.shape[3:]):
            stream.append(plane)
    yield ForeignFile("ome-writers", "OME-Zarr, TCZYX, uint16", path,
                      Specimen(specimen.pixels, specimen.voxel_um, specimen.channel_names))
