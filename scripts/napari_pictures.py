#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the pictures of docs/python/napari.md: windows of napari with the plugin, at work on simulated channels.

scripts/napari.sh pictures installs what is needed and calls it.
"""

import os
import tempfile
import time
import warnings
from pathlib import Path

import napari
import numpy as np
from napari.settings import get_settings
from PIL import Image
from qtpy.QtWidgets import QApplication

import convolume

ROOT = Path(__file__).resolve().parents[1]
SPACING = (0.2, 0.1, 0.1)


def recorded_cells(folder):
    """Writes a recording with two channels; returns its name."""
    channels = []
    for seed, kind, wavelength in ((3, "shells", "461nm"), (4, "filaments", "520nm")):
        psf = convolume.make_psf(na=1.2, ni=1.33, wavelength=wavelength, spacing=SPACING, shape=(31, 63, 63))
        specimen = convolume.Phantom((32, 400, 400), SPACING, kind=kind, seed=seed, brightness=6000)
        channels.append(convolume.Camera(seed=seed).expose(convolume.convolve(specimen, psf, boundary="zero")))
    name = os.path.join(folder, "cells.ome.tif")
    convolume.save(name, np.stack(channels), axes="CZYX", spacing=SPACING, channel_names=["membrane", "actin"])
    return name


def dock(viewer, title):
    """Opens a widget of the plugin beside the picture, wide enough for its fields."""
    place, widget = viewer.window.add_plugin_dock_widget("napari-convolume", title)
    place.setMinimumWidth(330)
    return widget


def finish(widget, button, viewer):
    """Presses a button and waits for the end of the work; returns the newest layer."""
    button.changed.emit(True)
    begin = time.monotonic()
    while not widget.start.enabled:
        QApplication.processEvents()
        time.sleep(0.01)
        if time.monotonic() - begin > 300:
            raise TimeoutError(f"{button.text} takes more than 300 s")
    return viewer.layers[-1]


def draw(viewer, name):
    QApplication.processEvents()
    viewer.screenshot(canvas_only=False, flash=False)  # the first picture may lack the newest layer
    picture = viewer.screenshot(canvas_only=False, flash=False)
    Image.fromarray(picture[..., :3]).quantize(255).save(ROOT / "docs" / "images" / f"napari_{name}.png", optimize=True)


def main():
    warnings.simplefilter("ignore")
    get_settings().appearance.theme = "light"
    with tempfile.TemporaryDirectory() as folder:
        viewer = napari.Viewer(show=False)
        viewer.window.resize(1280, 760)
        membrane, actin = viewer.open(recorded_cells(folder), plugin="napari-convolume")
        membrane.visible = False
        actin.colormap = "gray"
        viewer.reset_view()

        maker = dock(viewer, "Make a PSF")
        maker.like.value = actin
        psf = finish(maker, maker.start, viewer)
        actin.visible = False
        psf.translate = actin.extent.world.mean(axis=0) - psf.extent.world.mean(axis=0)
        viewer.camera.zoom *= 4
        draw(viewer, "make_psf")
        actin.visible, psf.visible = True, False
        viewer.window.remove_dock_widget("all")

        widget = dock(viewer, "Deconvolve")
        widget.image.value, widget.psf.value = actin, psf
        viewer.reset_view()
        viewer.camera.zoom *= 1.15
        QApplication.processEvents()
        viewer.screenshot(flash=False)  # tells the layers what is in view
        preview = finish(widget, widget.preview, viewer)
        preview.contrast_limits = (0, np.percentile(preview.data, 99.8))
        draw(viewer, "preview")

        preview.visible = False
        viewer.reset_view()
        sharp = finish(widget, widget.start, viewer)
        sharp.contrast_limits = (0, np.percentile(sharp.data, 99.8))
        draw(viewer, "deconvolved")
        viewer.close()


if __name__ == "__main__":
    main()
