# SPDX-License-Identifier: Apache-2.0
"""Deskewing in double precision, by its definition: for each voxel of the result, a weighted mean of the recording.
Slow and independent of the library."""
import numpy as np


def weight(kind, t):
    t = np.abs(t)
    return np.maximum(0, 1 - t) if kind == "linear" else np.where(t < 3, np.sinc(t) * np.sinc(t / 3), 0)


def positions(shape, angle, step, pixel, opposite, rotate, voxel):
    """Returns the shape (z, y) of the result, and the recorded plane and row of each of its voxels."""
    planes, rows = shape[:2]
    cos, sin = np.cos(np.radians(angle)), np.sin(np.radians(angle))
    if not rotate:
        shift = step * cos / pixel
        more = int(np.ceil((planes - 1) * shift - 1e-9))
        z, y = np.mgrid[:planes, :rows + more].astype(float)
        return z, (y - more + z * shift if opposite else y - z * shift)
    extents = ((rows - 1) * pixel * sin, (rows - 1) * pixel * cos + (planes - 1) * step)
    z, y = np.mgrid[tuple(slice(int(np.ceil(e / v - 1e-9)) + 1) for e, v in zip(extents, voxel))].astype(float)
    height, along = z * voxel[0], y * voxel[1]
    row = rows - 1 - height / (pixel * sin)
    if not opposite:
        return (along - row * pixel * cos) / step, row
    return (along[:, ::-1] - row * pixel * cos) / step, rows - 1 - row


def along_x(image, voxel, pixel, kind, fill):
    """Resamples the last axis."""
    if voxel == pixel:
        return image
    stretch = max(1, voxel / pixel)
    at = np.arange(int(np.ceil((image.shape[2] - 1) * pixel / voxel - 1e-9)) + 1) * voxel / pixel
    w = weight(kind, (np.arange(image.shape[2])[:, None] - at) / stretch)
    result = image @ (w / w.sum(0))
    result[..., at > image.shape[2] - 1 + 1e-9] = fill
    return result


def deskew(image, angle, step, pixel, opposite=False, rotate=False, voxel=None, kind="linear", fill=0., across=None):
    """Deskews an image (z, y, x) along y; `across` is the pixel along x."""
    image = image.astype(float)
    across = across or pixel
    voxel = voxel or (pixel,) * 3
    planes, rows, columns = image.shape
    plane, row = positions(image.shape, angle, step, pixel, opposite, rotate, voxel)
    cos, sin = np.cos(np.radians(angle)), np.sin(np.radians(angle))
    shear = (-1 if opposite else 1) * step * cos / pixel
    stretch_z = stretch_y = 1
    if rotate:
        stretch_z = max(1, np.hypot(voxel[1] * sin, voxel[0] * cos) / (step * sin))
        stretch_y = max(1, np.hypot(voxel[1] * cos, voxel[0] * sin) / pixel)
    result = np.full((*plane.shape, columns), float(fill))
    for place in np.ndindex(plane.shape):
        z, y = plane[place], row[place]
        if not -1e-9 <= z <= planes - 1 + 1e-9:
            continue
        near = np.arange(np.floor(z - 3 * stretch_z), np.ceil(z + 3 * stretch_z) + 1)
        of_planes = weight(kind, (near - z) / stretch_z)
        at = y + (z - near) * shear
        inside = (near >= 0) & (near < planes) & (at >= -1e-9) & (at <= rows - 1 + 1e-9) & (np.abs(of_planes) > 1e-9)
        total = of_planes[inside].sum()
        if not inside.any() or total < of_planes.sum() / 2 - 1e-9:
            continue
        value = 0
        for k, w, position in zip(near[inside], of_planes[inside], at[inside]):
            of_rows = weight(kind, (np.arange(rows) - position) / stretch_y)
            value += w / total * (of_rows / of_rows.sum()) @ image[int(k)]
        result[place] = value
    return along_x(result, voxel[2], across, kind, fill) if rotate else result
