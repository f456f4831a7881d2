# SPDX-License-Identifier: Apache-2.0
"""Judges how other programs read our files."""
import numpy as np
from command import Reading
from judge import PIXELS, REFUSED, WRONG, Cell, verdict_of
from readers import NOT_TOLD
from registry import failure_text

# Orders of pages in our files: ImageJ's, and that of OME-TIFF, HDF5 and NPY.
PAGE_ORDERS = ("TZCYX", "TCZYX")


def in_axis_order(pixels, axes):
    """Returns pixels with named axes in the order t, c, z, y, x. RGB samples are channels."""
    axes = axes.replace("S", "C") if "C" not in axes else axes
    if len(axes) != pixels.ndim or set(axes) - set("TCZYX"):
        raise ValueError(f"axes {axes}")
    for axis in "TCZYX":
        if axis not in axes:
            pixels, axes = pixels[None], axis + axes
    return pixels.transpose([axes.index(axis) for axis in "TCZYX"])


def without_axes(pixels, specimen):
    """Returns pixels without named axes in the order t, c, z, y, x, if they are in the order of the file's pages."""
    t, c, z, y, x = specimen.pixels.shape
    pages = pixels.reshape(-1, y, x) if pixels.size == specimen.pixels.size and pixels.shape[-1] == x else pixels
    for order in PAGE_ORDERS:
        arranged = specimen.arranged(order)
        if pages.shape == (t * c * z, y, x) and np.array_equal(pages, arranged.reshape(pages.shape)):
            return specimen.pixels.astype(pixels.dtype)
    return pages.reshape(t, c, z, y, x) if pages.size == specimen.pixels.size else pages


def judge_written_file(program, file, answer):
    """Judges a program's answer: a reading or an error."""
    def make_cell(verdict, detail=""):
        return Cell("written", program, file.contents, verdict, detail, file.group)

    if isinstance(answer, Exception):
        return make_cell(REFUSED, failure_text(answer).replace(str(file.path), "FILE"))
    specimen = file.specimen
    if answer.pixels is None:
        found = pixels = specimen.pixels
        if answer.sizes is not None and answer.sizes != specimen.pixels.shape:
            return make_cell(WRONG, f"sizes {answer.sizes} in place of {specimen.pixels.shape}")
    else:
        found = answer.pixels
        try:
            pixels = in_axis_order(found, answer.axes) if answer.axes is not None else without_axes(found, specimen)
        except ValueError as error:
            pixels = found
            return make_cell(PIXELS if same_values(found, specimen) else WRONG, str(error))
    interval_source = specimen if answer.frame_interval_s == NOT_TOLD else answer
    reading = Reading(pixels, answer.voxel_um, answer.channel_names, interval_source.frame_interval_s, "", ())
    if answer.axes is None and has_first_axis_last(found, specimen):
        return make_cell(PIXELS, f"the axis of {found.shape[-1]} samples comes last")
    verdict, detail = verdict_of(specimen, reading)
    if verdict == WRONG and same_values(found, specimen):
        return make_cell(PIXELS, detail)
    return make_cell(verdict, detail)


def same_values(pixels, specimen):
    """Tells whether the values are the file's in the order of its pages, for any type and axes."""
    return any(np.array_equal(pixels.ravel(), specimen.arranged(order).ravel()) for order in PAGE_ORDERS)


def has_first_axis_last(pixels, specimen):
    """Tells whether a program read the first axis as colors."""
    return np.array_equal(np.squeeze(pixels), np.moveaxis(np.squeeze(specimen.pixels), 0, -1))
