# SPDX-License-Identifier: Apache-2.0
"""Tests of types, signatures, docstrings and docs/reference/options.json against the library's tables, which describe
each option once.

    python test_options.py    writes docs/reference/options.json, and the type of the methods of deconvolution
"""

import inspect
import json
import re
import typing
from pathlib import Path

import numpy as np
import pytest

import convolume
from convolume import (
    _core,
    _correlation,
    _deconvolve_options,
    _deskew,
    _filters,
    _gradients,
    _optics,
    _options,
    _problem,
    _run,
)

TABLES = ("Options", "Engines", "DeconvolveOptions", "MissingPixelOptions", "FilterOptions", "ChannelizerOptions",
          "CorrelationOptions", "PsfOptions", "DeskewOptions", "PhantomOptions", "Camera")
DESCRIPTION = Path(__file__).parents[2] / "docs" / "reference" / "options.json"
KEYWORDS = Path(__file__).parents[1] / "convolume" / "_deconvolve_options.py"
DOORS = (convolume.convolve, convolume.correlate, convolume.Convolver, convolume.Deconvolver,
         convolume.ViewDeconvolver, convolume.ForwardModel, convolume.Deconvolver.__call__, convolume.richardson_lucy,
         convolume.wiener, convolume.filter_bank,
         convolume.FilterBank, convolume.correlation_peaks, convolume.CorrelationBank, convolume.chirp_bank,
         convolume.spectral_chirp_bank, convolume.divide_by_noise, convolume.match_template,
         convolume.masked_correlation, convolume.channelize, convolume.Channelizer,
         convolume.synthesize, convolume.Synthesizer, convolume.StreamFilter, convolume.make_psf, convolume.psf_facts,
         convolume.refine_psf, convolume.fit_psf, convolume.deskew,
         convolume.Phantom, convolume.Camera, convolume.save, convolume.process)


@_options.with_keywords(_gradients.GradientKeywords, _gradients.gradient_defaults())
def convolve_with_gradients(image, kernel, **options):
    """Has the signature of the functions in convolume.torch and convolume.jax, whose libraries may be missing."""


def default_texts(function):
    """Returns the keywords of a function, each with its default as text."""
    parameters = inspect.signature(function).parameters.values()
    return {one.name: f"np.{one.default.__name__}" if one.default in (np.float32, np.complex64) else repr(one.default)
            for one in parameters if one.kind is one.KEYWORD_ONLY and one.default is not one.empty}


def description():
    def path(function):
        name = function.__init__.__qualname__ if inspect.isclass(function) else function.__qualname__
        return f"{function.__module__}.{name}"

    return {"facts": _core.describe_facts(), "tables": {table: _core.describe_options(table) for table in TABLES},
            "signatures": {**{path(function): default_texts(function) for function in DOORS},
                           **{f"convolume.{name}.convolve": default_texts(convolve_with_gradients)
                              for name in ("torch", "jax")}}}


def lines_of(value, levels):
    """Returns JSON with a line for each item of the outer levels."""
    if levels == 0:
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, dict):
        items = [f"{json.dumps(key)}: {lines_of(item, levels - 1)}" for key, item in value.items()]
        return "{\n" + ",\n".join(items) + "}"
    return "[\n" + ",\n".join(lines_of(item, levels - 1) for item in value) + "]"


def test_description_is_that_of_the_library():
    """Returns the content of docs/reference/options.json, which has the defaults for the documentation."""
    assert json.loads(DESCRIPTION.read_text()) == json.loads(json.dumps(description())), f"run {__file__}"


@pytest.mark.parametrize(("literal", "table", "name"), [
    (_options.Mode, "Options", "mode"), (_options.ImageNan, "Options", "nan"),
    (_options.Precision, "Options", "precision"), (_problem.Method, "Options", "method"),
    (_problem.Operation, "Options", "operation"), (_deconvolve_options.Method, "DeconvolveOptions", "method"),
    (_deconvolve_options.Acceleration, "DeconvolveOptions", "acceleration"),
    (_filters.FilterMethod, "FilterOptions", "method"),
    (_correlation.PeakPosition, "CorrelationOptions", "position"),
    (_optics.Model, "PsfOptions", "model"), (_optics.Modality, "PsfOptions", "modality"),
    (_deskew.ShearAxis, "DeskewOptions", "axis"), (_deskew.Interpolation, "DeskewOptions", "interpolation"),
    (_optics.PhantomKind, "PhantomOptions", "kind"), (_run.Fft, "Engines", "fft")])
def test_types_name_the_values_of_the_library(literal, table, name):
    choices = next(one["choices"] for one in _core.describe_options(table) if one["name"] == name)
    assert sorted(typing.get_args(literal)) == sorted(choices)


@pytest.mark.parametrize("function", DOORS, ids=lambda function: function.__qualname__)
def test_docstrings_name_all_keywords(function):
    text = inspect.getdoc(function)
    if "Parameters\n" in text:
        assert [name for name in default_texts(function) if not re.search(rf"\b{name}\b", text)] == []


def test_defaults_of_functions_are_those_of_their_classes():
    iterations = inspect.signature(convolume.Deconvolver).parameters["iterations"].default
    assert inspect.signature(convolume.richardson_lucy).parameters["iterations"].default == iterations
    assert iterations is None  # a search finds the number
    assert inspect.signature(convolume.wiener).parameters["iterations"].default == 30
    spacing = next(one["default"] for one in _core.describe_options("PhantomOptions") if one["name"] == "voxel")
    assert inspect.signature(convolume.Phantom).parameters["spacing"].default == spacing


def test_options_hold_what_they_are_given():
    options = _core.DeconvolveOptions(method="rl-tv", iterations=7, stop="auto", edges="wrap", gain=2, offset=100)
    assert (options.method, options.iterations, options.stop, options.edges) == ("rl-tv", 7, "auto", "wrap")
    assert (options.gain, options.offset) == (2, 100)
    assert _core.DeconvolveOptions().offset == "auto"
    options.method = "shb"
    assert options.method == "shb"
    assert _core.FilterOptions(window=("peak", 8), span=(1, 5), origin=-3).window == "peak:8"


@pytest.mark.parametrize(("keyword", "value", "message"), [
    ("iterations", 2.5, "iterations is a whole number, not 2.5"),
    ("balance", None, "balance is a number, not None"),
    ("offset", "dark", "offset is a number or 'auto'"), ("background", "dark", "background is a number, 'auto'"),
    ("iteration", 3, r"__init__\(\) got an unexpected keyword argument 'iteration'")])
def test_wrong_options_are_type_errors(keyword, value, message):
    with pytest.raises(TypeError, match=message):
        convolume.Deconvolver((9, 9), np.ones((3, 3)), **{keyword: value})


def test_names_that_there_are_not():
    with pytest.raises(ValueError, match='wiener or map, not "sharp"'):
        convolume.Deconvolver((9, 9), np.ones((3, 3)), method="sharp")
    with pytest.raises(ValueError, match="no options called"):
        _core.describe_options("Sharpener")


def test_empty_text_is_not_a_missing_value():
    for name in ("saturation", "background", "stop"):
        with pytest.raises((TypeError, ValueError), match=name):
            convolume.Deconvolver((4, 4, 4), np.ones((1, 1, 1), np.float32), **{name: ""})


def with_methods(text):
    """Returns the source of the keywords of deconvolution with the library's methods in the type Method."""
    methods = next(one["choices"] for one in _core.describe_options("DeconvolveOptions") if one["name"] == "method")
    literal = f"Method = Literal[{', '.join(json.dumps(method) for method in methods)}]"
    return re.sub(r"^Method = Literal\[.*\]$", literal, text, flags=re.MULTILINE)


def test_type_of_methods_is_that_of_the_library():
    assert KEYWORDS.read_text() == with_methods(KEYWORDS.read_text()), f"run {__file__}"


if __name__ == "__main__":
    found = description()
    DESCRIPTION.write_text(f'{{"facts": {lines_of(found["facts"], 1)},\n"tables": {lines_of(found["tables"], 2)},\n'
                           f'"signatures": {lines_of(found["signatures"], 1)}}}\n')
    KEYWORDS.write_text(with_methods(KEYWORDS.read_text()))
