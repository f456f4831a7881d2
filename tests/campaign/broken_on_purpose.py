#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Breaks the code on purpose, one promise of docs/reliability.md after another, and checks that the test of the promise
fails.

    tests/campaign/broken_on_purpose.py BUILD [NAME...]

BUILD: a build with tests and the Python package and without CUDA, such as build/release. Files are changed, built,
tested and restored; so nothing may be changed in the working tree before. NAME: names of breaks below; default all.
Ends with 1 if a test passes all the same, or if the code to break is missing.
"""

import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass
class DeliberateDefect:
    """A change of the code: `old` becomes `new` in `file`, `target` is built, and ctest's `test` must fail."""

    file: str
    old: str
    new: str
    test: str
    target: str = "convolume_command"
    environment: dict[str, str] = field(default_factory=dict)


BREAKS = {
    "an output has its name before it is whole": DeliberateDefect(
        "io/atomic_output.cpp",
        "temporary_ = unfinished_name(target_);",
        "temporary_ = target_; ::unlink(target_.c_str());",
        "campaign_kills"),
    "unfinished files of killed processes stay": DeliberateDefect(
        "io/atomic_output.cpp",
        "if (!seen.insert(folder).second) return;",
        "return;",
        "campaign_kills"),
    "a failed fsync is ignored": DeliberateDefect(
        "io/atomic_output.cpp",
        "if (::fsync(descriptor_) != 0) throw",
        "if (::fsync(descriptor_) > 0) throw",
        "campaign_write_faults"),
    "a short write counts as a whole one": DeliberateDefect(
        "io/atomic_output.cpp",
        "bytes -= done;",
        "bytes = 0;",
        "campaign_write_faults"),
    "samples that cannot be read are zeros": DeliberateDefect(
        "io/raw_file.cpp",
        "if (got < 0)\n            throw",
        "if (got < 0) return;\n        if (got < -1)\n            throw",
        "campaign_read_faults"),
    "a file that becomes shorter is read as zeros": DeliberateDefect(
        "io/raw_file.cpp",
        "if (got == 0)\n            throw",
        "if (got == 0) return;\n        if (got == 0)\n            throw",
        "campaign_read_faults"),
    "an input may change while it is read": DeliberateDefect(
        "io/raw_file.cpp",
        "if (state.identity != identity_ ||",
        "if (size_ >= 0) return;\n    if (state.identity != identity_ ||",
        "campaign_silent_losses"),
    "infinities in a result are not reported": DeliberateDefect(
        "cli/files/result_output.cpp",
        "if (samples == 0) return;",
        "if (samples >= 0) return;",
        "campaign_silent_losses"),
    "clamped values are not reported": DeliberateDefect(
        "cli/files/result_output.cpp",
        "if (executed.clamped_low > 0 ||",
        "if (executed.clamped_low > 0 &&",
        "test_cli_deconvolve"),
    "damaged HDF5 files are opened without a helper process": DeliberateDefect(
        "cli/app.cpp",
        "io::contain_damage(true);",
        "io::contain_damage(false);",
        "campaign_damaged_hdf5"),
    "an HDF5 chunk may write beyond the memory for it": DeliberateDefect(
        "io/hdf5/library.cpp",
        "if (bytes > most_samples) return -1;",
        "",
        "test_io",
        "test_io"),
    "an HDF5 chunk that is too short counts as whole": DeliberateDefect(
        "io/hdf5/dataset.cpp",
        "if (limit.read() < static_cast<index_t>(bytes)) refuse(wrong_size);",
        "",
        "test_io",
        "test_io"),
    "pages of a TIFF may promise more than the file holds": DeliberateDefect(
        "io/tiff/pages.cpp",
        "if (room < 0 || table_room < 0)",
        "if (room < -(index_t{1} << 60) || table_room < -(index_t{1} << 60))",
        "campaign_small_files"),
    "a failed allocation aborts the process": DeliberateDefect(
        "cli/run/process_end.cpp",
        "usual_end = std::set_terminate(end_by_exception);",
        "usual_end = std::get_terminate(); static_cast<void>(end_by_exception);",
        "campaign_allocations"),
    "kernels are resampled beyond the limit": DeliberateDefect(
        "cli/files/kernel_file.cpp",
        "if (!sizes.differ()) return;",
        "if (!sizes.differ()) return;\n    kernel.options.most_bytes = INT64_MAX;",
        "campaign_memory_limit"),
    "planning and preparation go on after an interruption": DeliberateDefect(
        "core/stop_scope.cpp",
        "if (current != nullptr && current->stop_requested())",
        "if (current != nullptr && current == nullptr)",
        "campaign_cancel"),
    "each image of a batch leaves memory behind": DeliberateDefect(
        "io/atomic_output.cpp",
        "    // Delayed write errors",
        "    std::memset(new char[1 << 18], 1, 1 << 18);\n    // Delayed write errors",
        "campaign_soak"),
    "each image of a batch leaves a file open": DeliberateDefect(
        "io/atomic_output.cpp",
        "unregister_pending(slot_);\n    ::close(descriptor_);\n    descriptor_ = -1;",
        "unregister_pending(slot_);\n    descriptor_ = -1;",
        "campaign_soak"),
    "concurrent callers share scratch memory": DeliberateDefect(
        "volumes/adjoint.cpp",
        "std::vector<Sum> sums(width * static_cast<std::size_t>(threads));",
        "static std::vector<Sum> sums(std::size_t{1} << 20);",
        "test_interface",
        "test_interface"),
    "parts are joined with roots of the other sign": DeliberateDefect(
        "decompose/split.cpp",
        "const auto factors = geometry.factors(true);",
        "const auto factors = geometry.factors(false);",
        "test_convolver",
        "test_convolver"),
    "tiles count the pixels of their margins": DeliberateDefect(
        "deconvolve/executors/plane_geometry.hpp",
        "if (is_whole) return true;",
        "if (is_whole || rows > 0) return true;",
        "test_walks",
        "test_walks"),
    "random numbers depend on the position in the tile": DeliberateDefect(
        "deconvolve/functors.hpp",
        "if (is_whole) return first + i;",
        "if (is_whole || i >= 0) return first + i;",
        "test_walks",
        "test_walks"),
    "the first changes of a nearly empty object are clipped": DeliberateDefect(
        "core/short_float.hpp",
        "return root <= 6 ? ShortFormat",
        "return root <= 31 ? ShortFormat",
        "test_walks",
        "test_walks"),
    "the adjoint forgets a border": DeliberateDefect(
        "volumes/adjoint.cpp",
        "if (sources[2][k] >= 0)",
        "if (sources[2][k] > 0)",
        "python",
        "convolume_python",
        {"PYTEST_ADDOPTS": "-x -k test_properties"}),
}


def run(*command, **environment):
    return subprocess.run([str(word) for word in command], cwd=ROOT, capture_output=True, text=True,
                          env={**os.environ, **environment})


def outcome_of_break(build, name, one):
    """Returns None if the test noticed the break, or else a description of what is wrong."""
    path = ROOT / one.file
    text = path.read_text()
    if text.count(one.old) != 1:
        return f"{one.file} has {text.count(one.old)} places with: {one.old}"
    try:
        path.write_text(text.replace(one.old, one.new))
        built = run("cmake", "--build", build, "--target", one.target)
        if built.returncode != 0:
            return "it does not build:\n" + built.stdout[-2000:]
        tested = run("ctest", "--test-dir", build, "-R", f"^{one.test}$", "--no-tests=error",
                     **one.environment)
        return f"{one.test} passed" if tested.returncode == 0 or "Skipped" in tested.stdout else None
    finally:
        path.write_text(text)


def main():
    build, names = Path(sys.argv[1]).resolve(), sys.argv[2:] or list(BREAKS)
    if run("git", "status", "--porcelain", "--untracked-files=no").stdout:
        sys.exit("broken_on_purpose.py: files of the working tree are changed; commit them first")
    unnoticed = 0
    for name in names:
        wrong = outcome_of_break(build, name, BREAKS[name])
        unnoticed += wrong is not None
        print(f"{name}: {'noticed by ' + BREAKS[name].test if wrong is None else 'NOT NOTICED: ' + wrong}", flush=True)
    run("cmake", "--build", build)
    print(f"{len(names)} breaks, {unnoticed} not noticed")
    sys.exit(1 if unnoticed else 0)


if __name__ == "__main__":
    main()
