#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exchanges files with other programs in both directions, and reports the results.

    interop.py --command CONVOLUME [--json FILE] [--page FILE] [--only PROGRAM…]

The Python package is used if it can be imported. Ends with 1 if the wrong verdicts are not those of
known_faults.txt, and with 77 (skipped) if no other program is installed."""
import argparse
import contextlib
import io
import logging
import sys
import tempfile
import warnings
from pathlib import Path

try:
    import h5py  # noqa: F401
    import numpy  # noqa: F401
    import tifffile  # noqa: F401
except ImportError as missing:
    print("SKIPPED:", missing)
    sys.exit(77)

# Importing these modules registers their programs.
import hdf5_writers  # noqa: F401
import java_programs  # noqa: F401
import java_readers  # noqa: F401
import microscopy_writers  # noqa: F401
import mrc_writers  # noqa: F401
import python_writers  # noqa: F401
import readers  # noqa: F401
import tifffile_writers  # noqa: F401
import zarr_readers  # noqa: F401
import zarr_writers  # noqa: F401
from command import Convolume
from judge import OK, WRONG
from limits import known_faults, known_limit_of, table_key_of
from our_files import write_our_files, write_our_zarr
from read_cells import judge_reading
from registry import READERS, WRITERS, failure_text
from report import write_json, write_page
from written_cells import judge_written_file

SKIPPED = 77


class Exchange:
    """Collects verdicts, versions of programs, and missing programs."""

    def __init__(self, command, folder, only):
        self.command, self.folder, self.only = command, Path(folder), only
        self.cells, self.versions, self.missing = [], {"convolume": command.version}, {}

    def present(self, registry):
        """Yields the participants that are installed and selected."""
        for participant in registry.participants:
            if self.only and participant.name not in self.only:
                continue
            reason = participant.missing()
            if reason is not None:
                self.missing[participant.name] = reason
                continue
            self.versions[participant.name] = participant.version
            yield participant

    def read_foreign_files(self):
        folder = self.folder / "theirs"
        folder.mkdir()
        for participant in self.present(WRITERS):
            try:
                files = quietly(participant.function, folder)
            except Exception as error:  # noqa: BLE001 - other versions of a program may fail differently
                self.missing[participant.name] = f"does not write its files: {failure_text(error)}"
                continue
            self.cells += [judge_reading(self.command, file) for file in files]

    def write_our_files(self):
        folder = self.folder / "ours"
        folder.mkdir()
        files = list(write_our_files(self.command, folder))
        with contextlib.suppress(ImportError):
            files += list(write_our_zarr(folder))
        for participant in self.present(READERS):
            suitable = [file for file in files if file.path.name.endswith(participant.suffixes)]
            answers = quietly(participant.function, suitable, folder)
            self.cells += [judge_written_file(participant.name, file, answer) for file, answer in answers]


def quietly(function, *arguments):
    """Runs a function of another program without its progress bars and warnings. Returns a list."""
    with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()), \
            contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        logging.disable(logging.CRITICAL)
        return list(function(*arguments))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--command", required=True)
    parser.add_argument("--json")
    parser.add_argument("--page")
    parser.add_argument("--only", nargs="*")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        exchange = Exchange(Convolume(args.command, Path(folder) / "kernel"), folder, args.only)
        exchange.read_foreign_files()
        exchange.write_our_files()
    for name, reason in exchange.missing.items():
        print(f"SKIP {name}: {reason}")
    for cell in exchange.cells:
        if cell.verdict != OK:
            print(f"{cell.verdict} | {cell.direction} | {cell.program} | {cell.contents} | {cell.detail}")
    wrong = {table_key_of(cell) for cell in exchange.cells if cell.verdict == WRONG and known_limit_of(cell) is None}
    known = known_faults() & {table_key_of(cell) for cell in exchange.cells}
    for key in sorted(wrong - known):
        print("WRONG:", key)
    for key in sorted(known - wrong):
        print("no longer wrong, to be removed from known_faults.txt:", key)
    print(f"{len(exchange.cells)} files exchanged, {len(wrong)} wrong, of which {len(wrong & known)} are known")
    if args.json:
        write_json(args.json, exchange.cells, exchange.versions, exchange.missing)
    if args.page:
        write_page(args.page, exchange.cells, exchange.versions)
    if not exchange.cells:
        return SKIPPED
    return int(wrong != known)


if __name__ == "__main__":
    sys.exit(main())
