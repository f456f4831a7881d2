# SPDX-License-Identifier: Apache-2.0
"""Writes OME-TIFF files with Python packages for microscopy."""
from registry import WRITERS
from specimen import VOXEL_UM, ForeignFile, Specimen, file_name, make_specimen


@WRITERS.add("ome-types", "ome-types", ["ome_types", "tifffile"])
def ome_types_files(folder):
    """Writes OME-XML made by ome-types, in a TIFF whose pages tifffile writes one by one."""
    import tifffile
    from ome_types import model

    for order in ("XYZCT", "XYCZT", "XYTCZ"):
        for listed in (False, True):
            specimen = make_specimen("TCZYX", names=True, interval=2.5)
            t, c, z, y, x = specimen.pixels.shape
            storage = order[:1:-1] + "YX"
            if listed:  # every plane has its own TiffData, and pages are in reversed order
                pages = specimen.arranged(storage).reshape(-1, y, x)[::-1]
                counts = dict(zip("TCZ", (t, c, z)))
                indices = [{}]
                for axis in storage[:3]:
                    indices = [{**index, axis: i} for index in indices for i in range(counts[axis])]
                data = [model.TiffData(ifd=len(pages) - 1 - page, plane_count=1, first_t=index["T"],
                                       first_c=index["C"], first_z=index["Z"]) for page, index in enumerate(indices)]
            else:
                pages = specimen.arranged(storage).reshape(-1, y, x)
                data = [model.TiffData()]
            pixels = model.Pixels(
                dimension_order=order, type="uint16", size_x=x, size_y=y, size_z=z, size_c=c, size_t=t,
                physical_size_x=100, physical_size_x_unit="nm", physical_size_y=104, physical_size_y_unit="nm",
                physical_size_z=0.0003, physical_size_z_unit="mm", time_increment=2500, time_increment_unit="ms",
                channels=[model.Channel(name=name, samples_per_pixel=1) for name in specimen.channel_names],
                tiff_data_blocks=data)
            xml = model.OME(images=[model.Image(pixels=pixels, name="specimen")]).to_xml()
            contents = f"TCZYX, {order}" + (", a TiffData for each plane" if listed else "")
            path = file_name(folder, "ome_types", contents, extension=".ome.tif")
            with tifffile.TiffWriter(path) as file:
                for i, page in enumerate(pages):
                    file.write(page, description=xml.encode() if i == 0 else None, metadata=None, contiguous=False,
                               photometric="minisblack")
            yield ForeignFile("ome-types", contents, path, specimen)


@WRITERS.add("bioio", "bioio-ome-tiff", ["bioio_ome_tiff.writers", "bioio_base.types"])
def bioio_files(folder):
    from bioio_base.types import PhysicalPixelSizes
    from bioio_ome_tiff.writers import OmeTiffWriter

    for axes, dtype in (("ZYX", "uint16"), ("ZYX", "float32"), ("CZYX", "uint16"), ("TCZYX", "uint16"),
                        ("YX", "uint8")):
        specimen = make_specimen(axes, dtype, names="C" in axes)
        path = file_name(folder, "bioio", axes, dtype, extension=".ome.tiff")
        names = list(specimen.channel_names) or ["only"]
        OmeTiffWriter.save(specimen.arranged(axes), str(path), dim_order=axes, channel_names=names,
                           physical_pixel_sizes=PhysicalPixelSizes(*specimen.voxel_um))
        named = Specimen(specimen.pixels, specimen.voxel_um, tuple(names))
        yield ForeignFile("bioio", f"OmeTiffWriter, {axes}, {dtype}, deflate", path, named)
    specimen = make_specimen("CYX", "uint8", (None, None, None), channels=3)
    path = file_name(folder, "bioio_rgb", extension=".ome.tiff")
    OmeTiffWriter.save(specimen.arranged("YXC"), str(path), dim_order="YXS")
    yield ForeignFile("bioio", "OmeTiffWriter, RGB, uint8", path, specimen)


@WRITERS.add("ome-writers", "ome-writers", ["ome_writers", "tifffile"])
def ome_writers_files(folder):
    """Writes files as the software of a microscope streams them."""
    import ome_writers

    for axes, compression in (("ZYX", None), ("CZYX", None), ("TCZYX", None), ("TCZYX", "lzw")):
        specimen = make_specimen(axes, names="C" in axes)
        sizes = dict(zip("TCZYX", specimen.pixels.shape))
        scale = dict(zip("ZYX", VOXEL_UM))
        dimensions = []
        for axis in axes:
            facts = {"scale": scale[axis], "unit": "micrometer"} if axis in scale else {}
            if axis == "C":
                facts = {"coords": [ome_writers.Channel(name=name) for name in specimen.channel_names]}
            dimensions.append(ome_writers.Dimension(name=axis.lower(), count=sizes[axis], **facts))
        path = file_name(folder, "ome_writers", axes, compression, extension=".ome.tiff")
        settings = ome_writers.AcquisitionSettings(root_path=str(path), dimensions=dimensions, dtype="uint16",
                                                   compression=compression)
        with ome_writers.create_stream(settings) as stream:
            for plane in specimen.arranged(axes).reshape(-1, *specimen.pixels.shape[3:]):
                stream.append(plane)
        yield ForeignFile("ome-writers", f"OME-TIFF, {axes}, uint16, {compression or 'raw'}", path, specimen)


@WRITERS.add("pymmcore-plus", "pymmcore-plus", ["pymmcore_plus.mda.handlers", "useq"])
def micromanager_files(folder):
    """Writes files with pymmcore-plus's writer, which gets the events of an acquisition."""
    import useq
    from pymmcore_plus.mda.handlers import OMETiffWriter

    specimen = make_specimen("TCZYX", names=True)
    sequence = useq.MDASequence(
        axis_order="tcz", channels=list(specimen.channel_names), time_plan={"interval": 2.5, "loops": 3},
        z_plan={"top": 1.2, "bottom": 0, "step": 0.3})
    path = file_name(folder, "pymmcore_plus", extension=".ome.tiff")
    writer = OMETiffWriter(path)
    writer.sequenceStarted(sequence, {})
    for event in sequence:
        t, c, z = (event.index[axis] for axis in "tcz")
        writer.frameReady(specimen.pixels[t, c, z], event, {})
    writer.sequenceFinished(sequence)
    # A camera's metadata would give pixel sizes; these events have none.
    expected = Specimen(specimen.pixels, (0.3, None, None), specimen.channel_names, 2.5)
    yield ForeignFile("pymmcore-plus", "OMETiffWriter, TCZYX, uint16", path, expected)
