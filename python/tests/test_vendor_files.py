# SPDX-License-Identifier: Apache-2.0
"""Tests of examples/python/vendor_files.py, the recipe for files of vendors.

scripts/interop.sh runs them with the readers of bioio; elsewhere they are skipped if these are missing.
"""

import importlib.util
import struct
from pathlib import Path

import numpy as np
import pytest

import convolume

PROGRAM = Path(__file__).parents[2] / "examples" / "python" / "vendor_files.py"
pytestmark = pytest.mark.filterwarnings("ignore")  # of the readers
if not PROGRAM.exists():
    pytest.skip("the programs are not beside the tests", allow_module_level=True)
for module in ("bioio", "bioio_ome_tiff"):
    pytest.importorskip(module)

SPACING, NAMES = (0.3, 0.1, 0.1), ["Green", "Red"]


@pytest.fixture
def convert():
    spec = importlib.util.spec_from_file_location("vendor_files", PROGRAM)
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    return program.convert


@pytest.fixture
def samples():
    return np.random.default_rng(5).integers(0, 4000, (2, 5, 24, 20), np.uint16)


def check(path, samples):
    image = convolume.open(path)
    np.testing.assert_array_equal(image, samples)
    np.testing.assert_allclose(image.spacing, SPACING, rtol=1e-6)
    assert image.channel_names == NAMES


def lif_of(samples):
    """Returns a file of Leica with one image: a header of XML, and one block of samples, channel by channel."""
    channels, z, y, x = samples.shape
    plane, stack = y * x * 2, z * y * x * 2
    sizes = [(1, x, SPACING[2], 2), (2, y, SPACING[1], 2 * x), (3, z, SPACING[0], plane)]
    dimensions = "".join(f'<DimensionDescription DimID="{axis}" NumberOfElements="{count}" Origin="0" '
                         f'Length="{size * 1e-6 * (count - 1):.9g}" Unit="m" BitInc="0" BytesInc="{step}"/>'
                         for axis, count, size, step in sizes)
    described = "".join(f'<ChannelDescription DataType="0" ChannelTag="0" Resolution="16" NameOfMeasuredQuantity="" '
                        f'Min="0" Max="65535" Unit="" LUTName="{name}" IsLUTInverted="0" BytesInc="{i * stack}" '
                        'BitInc="0"/>' for i, name in enumerate(NAMES))
    text = ('<LMSDataContainerHeader Version="2"><Element Name="cells.lif" Visibility="1"><Data/><Children>'
            '<Element Name="cells" Visibility="1"><Data><Image><ImageDescription>'
            f"<Channels>{described}</Channels><Dimensions>{dimensions}</Dimensions></ImageDescription></Image></Data>"
            f'<Memory Size="{channels * stack}" MemoryBlockID="MemBlock_1"/><Children/></Element>'
            "</Children></Element></LMSDataContainerHeader>").encode("utf-16-le")
    name = "MemBlock_1".encode("utf-16-le")
    return (struct.pack("<IIBI", 0x70, len(text) + 5, 0x2A, len(text) // 2) + text
            + struct.pack("<IIBQBI", 0x70, len(name) + 14, 0x2A, channels * stack, 0x2A, len(name) // 2) + name
            + samples.tobytes())


def test_lif(convert, samples, tmp_path):
    pytest.importorskip("bioio_lif")
    path = tmp_path / "cells.lif"
    path.write_bytes(lif_of(samples))
    convert(str(path), str(tmp_path / "cells.ome.tif"))
    check(tmp_path / "cells.ome.tif", samples)


OPTICS = """<?xml version="1.0" encoding="UTF-8"?>
<OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06">
<Instrument ID="Instrument:0"><Objective ID="Objective:0" LensNA="1.2" Immersion="Water"/></Instrument>
<Image ID="Image:0"><InstrumentRef ID="Instrument:0"/><ObjectiveSettings ID="Objective:0" RefractiveIndex="1.33"/>
<Pixels ID="Pixels:0" DimensionOrder="XYCZT" Type="uint16" SizeX="20" SizeY="24" SizeZ="5" SizeC="2" SizeT="1"
PhysicalSizeX="0.1" PhysicalSizeY="0.1" PhysicalSizeZ="0.3">
<Channel ID="Channel:0:0" Name="Green" SamplesPerPixel="1" EmissionWavelength="520"/>
<Channel ID="Channel:0:1" Name="Red" SamplesPerPixel="1" EmissionWavelength="600"/><TiffData/></Pixels></Image></OME>"""


def test_optics_are_kept(convert, samples, tmp_path):
    """The objective and the wavelengths of a reader's OME metadata are in the result, whatever the order of planes."""
    tifffile = pytest.importorskip("tifffile")
    tifffile.imwrite(tmp_path / "vendor.ome.tif", samples.transpose(1, 0, 2, 3), description=OPTICS, metadata=None,
                     photometric="minisblack")
    convert(str(tmp_path / "vendor.ome.tif"), str(tmp_path / "cells.ome.tif"))
    check(tmp_path / "cells.ome.tif", samples)
    kept = tifffile.TiffFile(tmp_path / "cells.ome.tif").ome_metadata
    assert 'LensNA="1.2"' in kept and 'RefractiveIndex="1.33"' in kept
    assert 'EmissionWavelength="520.0"' in kept and 'EmissionWavelength="600.0"' in kept
