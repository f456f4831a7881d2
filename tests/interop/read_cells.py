# SPDX-License-Identifier: Apache-2.0
"""Reads files of other programs with the command."""
from command import Refused
from judge import NOTE, REFUSED, WRONG, Cell, verdict_of

CONTENT_ERROR = 65
UNAVAILABLE = 4
USAGE_ERROR = 2


def judge_reading(command, file):
    """Judges how the command reads a file. An expected refusal must name its reason, any other be a sentence."""
    def make_cell(verdict, detail=""):
        return Cell("read", file.program, file.contents, verdict, detail)

    try:
        reading = command.read(file.path, file.options)
    except Refused as refusal:
        sentence = str(refusal).replace(str(file.path), "FILE").removeprefix("convolume: error: ")
        if refusal.status not in (CONTENT_ERROR, UNAVAILABLE, USAGE_ERROR) or "\n" in sentence:
            return make_cell(WRONG, f"exit {refusal.status}: {sentence}")
        if file.refused_with is not None and file.refused_with not in sentence:
            return make_cell(WRONG, f"refused for another reason: {sentence}")
        return make_cell(REFUSED, sentence)
    if file.refused_with is not None and not reading.notes:
        return make_cell(WRONG, f"read as {reading.axes} without a note, although the file should be refused")
    notes = [note.replace(str(file.path), "FILE") for note in reading.notes]
    if file.refused_with is not None:
        return make_cell(NOTE, "; ".join(notes))
    return make_cell(*verdict_of(file.specimen, reading, notes))
