# SPDX-License-Identifier: Apache-2.0
"""Checks that every reader answers at once for files under 1 MB that claim to be large.
check_small_files.py CONVOLUME HDF5 TIFF."""
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import time

command = os.path.abspath(sys.argv[1])
longest_s = float(os.environ.get("CONVOLUME_TEST_SECONDS", "3"))  # an idle machine needs less than 1 s for a run
failures = []


def tiff_bytes(pages, strips, table, shared=True, description=b""):
    """Returns a TIFF of pages with `strips` rows, one in each strip, and `table` entries in the table of strips."""
    head = bytearray(b"II*\0" + struct.pack("<I", 0))
    table_at = len(head)
    head += struct.pack(f"<{table}I", *([8] * table))
    text_at = len(head)
    head += description
    data = head
    previous = 4
    for _ in range(pages):
        at = len(data)
        struct.pack_into("<I", data, previous, at)
        entries = [(256, 3, 1, 1), (257, 4, 1, strips), (258, 3, 1, 8), (259, 3, 1, 1), (262, 3, 1, 1)]
        if description:
            entries.append((270, 2, len(description), text_at))
        entries += [(273, 4, table, table_at), (277, 3, 1, 1), (278, 3, 1, 1), (279, 4, table, table_at)]
        data += struct.pack("<H", len(entries))
        for tag, kind, count, value in entries:
            data += struct.pack("<HHII", tag, kind, count, value)
        previous = len(data)
        data += struct.pack("<I", 0)
    return bytes(data)


def small_files():
    yield "npy", "header.npy", b"\x93NUMPY\x02\0" + struct.pack("<I", 900000) + b"(" * 900000
    yield "npy", "dims.npy", (b"\x93NUMPY\x02\0" + struct.pack("<I", 900000) +
                              (b"{'descr':'<f4','fortran_order':False,'shape':(" + b"1," * 449900).ljust(900000))
    if sys.argv[3] == "ON":
        yield "tiff", "strips.tif", tiff_bytes(170, 1000000, 1)
        yield "tiff", "tables.tif", tiff_bytes(2000, 100000, 100000)
        yield "tiff", "pages.tif", tiff_bytes(7000, 1, 1)
        many = b"ImageJ=1\nimages=2000000000\nslices=2000000000\n" * 20000
        yield "tiff", "imagej.tif", tiff_bytes(1, 1, 1, description=many)
        yield "tiff", "ome.tif", tiff_bytes(1, 1, 1, description=b'<?xml version="1.0"?><OME>' + b"<Image>" * 120000)
        many = b"".join(b'<TiffData FirstZ="%d" PlaneCount="1000000"/>' % i for i in range(18000))
        yield "tiff", "planes.ome.tif", tiff_bytes(1, 1, 1, description=(
            b'<?xml version="1.0"?><OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06"><Image ID="Image:0">'
            b'<Pixels ID="P:0" DimensionOrder="XYZCT" Type="uint8" SizeX="1" SizeY="1" SizeZ="2000000000" SizeC="1" '
            b'SizeT="1">' + many + b"</Pixels></Image></OME>"))
        yield "tiff", "shaped.tif", tiff_bytes(1, 1, 1, description=b'{"shape": [' + b"1," * 400000 + b"1]}")
        yield "tiff", "nested.tif", tiff_bytes(1, 1, 1, description=b'{"shape": ' + b"[" * 900000)
    yield "json", "ones.json", b"[" + b"1," * 499990 + b"1]"
    yield "json", "digits.json", b"1" * 1000000
    yield "json", "nested.json", b"[" * 1000000
    yield "json", "keys.json", b'{"na": 1.2' + b"".join(b',"k%d": 1' % i for i in range(70000)) + b"}"
    yield "json", "size.json", b'{"na":1.2,"wavelength_um":0.5,"size":[' + b"1" * 900000 + b"]}"
    if sys.argv[2] == "ON":
        try:
            import h5py
        except ImportError:
            print("h5py is missing: no HDF5 files")
            return
        with h5py.File("names.h5", "w") as file:
            for i in range(1500):
                file.create_dataset(f"t{i:05}/s00/0/cells", shape=(1, 1, 1), dtype="i2")
        with open("names.h5", "rb") as file:
            yield "hdf5", "names.h5", file.read()[:1000000]
        with h5py.File("chunks.h5", "w") as file:
            file.create_dataset("data", shape=(4000, 1000, 100), dtype="u1", chunks=(1, 1, 1))
        with open("chunks.h5", "rb") as file:
            yield "hdf5", "chunks.h5", file.read()


folder = tempfile.mkdtemp()
os.chdir(folder)
slowest, checked = (0.0, ""), 0
for kind, name, content in small_files():
    assert len(content) <= 1 << 20, (name, len(content))
    with open(name, "wb") as file:
        file.write(content)
    if kind == "json":
        runs = [["psf", "--from", name, "-o", "out.npy", "--overwrite"]]
    elif kind == "tiff":
        runs = [["info", name], ["preview", name, "-o", "out.png", "--overwrite"]]
    else:
        runs = [["info", name], ["info", "--signal", name]]
    for arguments in runs:
        checked += 1
        begin = time.monotonic()
        try:
            done = subprocess.run([command, *arguments], capture_output=True, text=True, timeout=300)
        except subprocess.TimeoutExpired:
            failures.append(f"{' '.join(arguments)}: more than a minute")
            continue
        took = time.monotonic() - begin
        slowest = max(slowest, (took, name))
        if took > longest_s:
            failures.append(f"{' '.join(arguments)}: {took:.1f} s")
        if done.returncode not in (0, 2, 3, 65) or (done.returncode != 0 and done.stderr.count("\n") != 1):
            failures.append(f"{' '.join(arguments)}: exit code {done.returncode}: {done.stderr[:300]}")
        if len(done.stderr) > 2000:
            failures.append(f"{' '.join(arguments)}: {len(done.stderr)} letters of error")
os.chdir("/")
shutil.rmtree(folder)
for failure in failures:
    print("FAILED:", failure)
print(f"{checked} runs, slowest {slowest[0]:.2f} s ({slowest[1]}), {len(failures)} failures")
sys.exit(1 if failures else 0)
