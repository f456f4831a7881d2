# SPDX-License-Identifier: Apache-2.0
"""Writes files with ImageJ and Bio-Formats: one start of Java handles many files."""
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from registry import WRITERS
from specimen import VOXEL_UM, ForeignFile, Specimen, file_name, make_specimen

HERE = Path(__file__).resolve().parent
UNKNOWN = (None, None, None)


@dataclass(frozen=True)
class JavaProgram:
    """A Java source that writes and reads files with the classes of a jar."""

    name: str
    source: str
    jar_variable: str
    usual_jar: str

    @property
    def jar(self):
        return os.environ.get(self.jar_variable, self.usual_jar)

    def missing(self):
        if not self.jar or not os.path.exists(self.jar):
            return f"no jar: the environment variable {self.jar_variable} can name one"
        try:
            self.start("version")
        except (OSError, subprocess.CalledProcessError) as error:
            return f"Java with a compiler is needed ({error})"
        return None

    def start(self, *arguments):
        command = ["java", "-Djava.awt.headless=true", "-Xmx1g", "-cp", self.jar, str(HERE / self.source), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=1500).stdout

    @property
    def version(self):
        return self.start("version").split()[-1]

    def write(self, folder, lines):
        """Writes files, and returns the errors by file."""
        return {fields[0]: fields[2] for fields in self.handle("write", folder, lines)}

    def read(self, folder, lines):
        """Reads files, and returns the fields that are printed for each."""
        return {fields[0]: fields[1:] for fields in self.handle("read", folder, lines)}

    def handle(self, verb, folder, lines):
        jobs = Path(folder) / f"{Path(self.source).stem}_{verb}.txt"
        jobs.write_text("".join("\t".join(map(str, line)) + "\n" for line in lines), encoding="utf-8")
        printed = (line.split("\t") for line in self.start(verb, str(jobs)).splitlines())
        return [fields for fields in printed if len(fields) > 2 and fields[1] in ("error", "read")]


IMAGEJ = JavaProgram("ImageJ", "ImageJFiles.java", "CONVOLUME_IMAGEJ_JAR", "/usr/share/java/ij.jar")
BIO_FORMATS = JavaProgram("Bio-Formats", "BioFormatsFiles.java", "CONVOLUME_BIOFORMATS_JAR", "")


def files_written_by(program, folder, jobs):
    """Writes files with a program, and yields those that it has written."""
    errors = program.write(folder, [fields for _, fields in jobs])
    for file, fields in jobs:
        if str(fields[0]) not in errors:
            yield file
        else:
            print(f"{program.name} does not write {file.contents}: {errors[str(fields[0])]}")


def raw_samples(folder, specimen, axes, name):
    path = file_name(folder, "samples", name, extension=".raw")
    specimen.arranged(axes).astype(specimen.pixels.dtype.newbyteorder("<")).tofile(path)
    return path


@WRITERS.add("ImageJ", program=IMAGEJ)
def imagej_files(folder):
    def write_job(contents, specimen, options="um", kind=None, extension=".tif", refused_with=None):
        raw = raw_samples(folder, specimen, "TZYXC" if kind == "rgb" else "TZCYX", f"imagej {contents}")
        t, c, z, y, x = specimen.pixels.shape
        path = file_name(folder, "imagej", contents, extension=extension)
        fields = (path, raw, kind or specimen.pixels.dtype, x, y, 1 if kind == "rgb" else c, z, t, options)
        return ForeignFile("ImageJ", contents, path, specimen, refused_with=refused_with), fields

    series = make_specimen("TCZYX", interval=2.5)
    # ImageJ keeps a single plane's calibration along z, and rounds pixels per nm to six digits.
    channels = Specimen(make_specimen("CYX", channels=3).pixels, VOXEL_UM)
    nanometers = Specimen(make_specimen().pixels, (0.3, 0.1, 0.1))
    jobs = [write_job(f"saveAsTiff, ZYX, {dtype}", make_specimen("ZYX", dtype))
            for dtype in ("uint8", "uint16", "float32")]
    jobs += [
        write_job("saveAsTiff, YX, uint16", make_specimen("YX")),
        write_job("saveAsTiff, 3 planes, uint16", make_specimen(planes=3)),
        write_job("saveAsTiff, CZYX, composite", make_specimen("CZYX"), "um,composite"),
        write_job("saveAsTiff, TCZYX", series),
        write_job("saveAsTiff, TZYX, float32", make_specimen("TZYX", "float32", interval=2.5)),
        write_job("saveAsTiff, CYX, 3 channels", channels),
        write_job("saveAsTiff, labels of planes", make_specimen(), "um,labels"),
        write_job("saveAsTiff, display range", make_specimen(), "um,range"),
        write_job("saveAsTiff, unit nm", nanometers, "nm"),
        write_job("saveAsTiff, unit micron", make_specimen(), "micron"),
        write_job("saveAsTiff, not calibrated", make_specimen(voxel=UNKNOWN), ""),
        write_job("saveAsTiff, RGB", make_specimen("CYX", "uint8", channels=3), kind="rgb"),
        write_job("saveAsTiff, RGB, 5 planes", make_specimen("CZYX", "uint8", channels=3), kind="rgb"),
        write_job("saveAsZip", make_specimen(), "um,zip", extension=".zip", refused_with="is not a TIFF"),
    ]
    yield from files_written_by(IMAGEJ, folder, jobs)


@WRITERS.add("Bio-Formats", program=BIO_FORMATS)
def bio_formats_files(folder):
    kinds = {"float32": "float", "float64": "double"}

    def write_job(contents, specimen, options="voxel", order="XYZCT", compression="", extension=".ome.tif"):
        rgb = "rgb" in options
        axes = "TZYXC" if rgb else order[:1:-1] + "YX"
        raw = raw_samples(folder, specimen, axes, f"bio-formats {contents}")
        t, c, z, y, x = specimen.pixels.shape
        path = file_name(folder, "bio-formats", contents, extension=extension)
        dtype = specimen.pixels.dtype.name
        fields = (path, raw, kinds.get(dtype, dtype), x, y, c, z, t, "XYCZT" if rgb else order, compression, options,
                  ",".join(specimen.channel_names))
        return ForeignFile("Bio-Formats", contents, path, specimen), fields

    types = ("uint8", "int8", "uint16", "int16", "uint32", "int32", "float32", "float64")
    jobs = [write_job(f"OME-TIFF, ZYX, {dtype}", make_specimen("ZYX", dtype)) for dtype in types]
    jobs += [write_job(f"OME-TIFF, TCZYX, {order}", make_specimen("TCZYX", names=True, interval=2.5),
                       order=order) for order in ("XYZCT", "XYCZT", "XYTZC")]
    for scheme in ("LZW", "zlib", "JPEG-2000"):
        for dtype in ("uint8", "uint16", "float32"):
            if scheme != "JPEG-2000" or dtype != "float32":
                jobs.append(write_job(f"OME-TIFF, {scheme}, {dtype}", make_specimen("ZYX", dtype), compression=scheme))
    jobs += [
        write_job("OME-TIFF, YX", make_specimen("YX")),
        write_job("OME-TIFF, 3 planes", make_specimen(planes=3)),
        write_job("OME-TIFF, RGB", make_specimen("CYX", "uint8", channels=3), "voxel,rgb"),
        write_job("OME-TIFF, RGB, 5 planes", make_specimen("CZYX", "uint8", channels=3), "voxel,rgb"),
        write_job("OME-TIFF, BigTIFF", make_specimen(), "voxel,big"),
        write_job("OME-TIFF, tiles of 16×16", make_specimen(), "voxel,tiles"),
        write_job("OME-TIFF, tiles of 16×16, zlib", make_specimen(), "voxel,tiles", compression="zlib"),
        write_job("OME-TIFF, no voxel size", make_specimen(voxel=UNKNOWN), ""),
        write_job("TIFF, ZYX", make_specimen(voxel=UNKNOWN), "", extension=".tif"),
        write_job("TIFF, ZYX, LZW", make_specimen(voxel=UNKNOWN), "", extension=".tif", compression="LZW"),
    ]
    yield from files_written_by(BIO_FORMATS, folder, jobs)
