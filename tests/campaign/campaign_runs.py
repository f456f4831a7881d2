# SPDX-License-Identifier: Apache-2.0
"""Inputs, commands over all formats, and checks of whole outputs, for the campaign's checks of outputs."""
import os
import subprocess

import h5py
import numpy as np


class Runs:
    """Inputs in the current folder, and commands that turn them into outputs named out…."""

    def __init__(self, command, has_hdf5, has_tiff, shape=(12, 40, 36)):
        rng = np.random.default_rng(7)
        self.command = os.path.abspath(command)
        np.save("image.npy", rng.integers(1, 1000, shape).astype(np.uint16))
        np.save("again.npy", rng.integers(1, 1000, shape).astype(np.uint16))
        np.save("kernel.npy", rng.random((3, 5, 5)).astype(np.float32))
        np.save("signal.npy", rng.random(shape[0] * 20000).astype(np.float32))
        np.save("taps.npy", rng.random((2, 31)).astype(np.float32))
        convolve = ["convolve", "image.npy", "kernel.npy"]
        tiled = [*convolve, "--method", "tiled", "--max-host-mem", "40M"]
        self.arguments = {
            "npy": [*convolve, "-o", "out.npy"],
            "streamed": [*tiled, "-o", "out_streamed.npy"],
            "deconvolve": ["deconvolve", "image.npy", "kernel.npy", "--iterations", "3", "-o", "out_rl.npy"],
            "filter": ["filter", "signal.npy", "taps.npy", "-o", "out_filter.npy"],
            "raw": ["filter", "signal.npy", "taps.npy", "-o", "out_filter.f32"],
            "phantom": ["phantom", "--size", "12,40,36", "--count", "3", "-o", "out_phantom.npy"],
            "simulate": ["simulate", "image.npy", "kernel.npy", "--voxel", "200,100,100nm", "-o", "out_simulated.npy"],
            "picture": ["preview", "image.npy", "-o", "out.png"],
            "many": ["convolve", "image.npy", "again.npy", "kernel.npy", "--output-dir", "outs"],
        }
        if has_tiff:
            self.arguments["scaled"] = [*convolve, "--scale-output", "-o", "out_scaled.tif"]
            self.arguments["tiff"] = [*convolve, "-o", "out.tif"]
            self.arguments["coded"] = [*convolve, "--compression", "deflate", "-o", "out_coded.ome.tif"]
        if has_hdf5:
            self.arguments["hdf5"] = [*convolve, "-o", "out.h5"]
            self.arguments["chunks"] = [*convolve, "--compression", "deflate", "-o", "out_chunks.h5"]
        os.mkdir("outs")
        self.inputs = set(os.listdir("."))

    def start(self, name, **environment):
        return subprocess.Popen([self.command, *self.arguments[name], "--overwrite", "-q"], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, start_new_session=True,
                                env={**os.environ, "OMP_NUM_THREADS": "2", **environment})

    def run(self, name, **environment):
        process = self.start(name, **environment)
        output, error = process.communicate(timeout=600)
        return subprocess.CompletedProcess(process.args, process.returncode, output, error)

    def contents(self, name):
        """Returns, by file, samples of HDF5 files, sums of compressed ones, bytes of others, or None if missing."""
        output = self.arguments[name][-1]
        if output != "outs":
            return {output: self._content(output)}
        return {file: self._content(os.path.join("outs", file)) for file in ("image.npy", "again.npy")}

    def _content(self, path):
        if not os.path.exists(path):
            return None
        if path.endswith(".h5"):
            try:
                with h5py.File(path) as file:
                    return file["data"][()].tobytes()
            except (OSError, KeyError) as error:
                return f"damaged: {error}"
        if path.endswith("coded.ome.tif"):  # TIFF strips are in any order, and tifffile may lack the codec
            done = subprocess.run([self.command, "info", "--stats", path], capture_output=True, text=True)
            return done.stdout or "damaged"
        with open(path, "rb") as file:
            return file.read()

    def put_old(self, name):
        """Writes old contents to the outputs, and returns these contents."""
        for file in self.contents(name):
            path = os.path.join("outs", file) if self.arguments[name][-1] == "outs" else file
            if path.endswith(".h5"):
                with h5py.File(path, "w") as old:
                    old["data"] = np.arange(10)
            else:
                with open(path, "wb") as old:
                    old.write(b"old")
        return self.contents(name)

    def clear(self, name):
        for file in self.contents(name):
            path = os.path.join("outs", file) if self.arguments[name][-1] == "outs" else file
            if os.path.exists(path):
                os.remove(path)

    def leftovers(self):
        """Removes the files that are neither inputs nor outputs, and returns their names."""
        outputs = {arguments[-1] for arguments in self.arguments.values()}
        left = [name for name in os.listdir(".") if name not in self.inputs | outputs]
        left += [os.path.join("outs", name) for name in os.listdir("outs") if "partial" in name]
        for name in left:
            os.remove(name)
        return left
