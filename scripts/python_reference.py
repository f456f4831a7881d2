#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the pages of docs/python/reference from the docstrings of the Python package, as plain Markdown.

    scripts/python_reference.py            writes the pages
    scripts/python_reference.py --check    fails if they are out of date

griffe reads the sources, so that the package need not be built. Signatures show the keywords of ``**options`` with the
defaults in docs/reference/options.json. Needs griffelib (scripts/docs_requirements.txt).
"""

import argparse
import builtins
import json
import re
import sys
import textwrap
from pathlib import Path

import griffe

ROOT = Path(__file__).resolve().parents[1]
PAGES = ROOT / "docs" / "python" / "reference"
SIGNATURES = json.loads((ROOT / "docs" / "reference" / "options.json").read_text(encoding="utf-8"))["signatures"]
MODULES = ("signal", "ndimage", "restoration", "torch", "jax", "cache")
OUTLINE = {
    "Where functions run": "Run",
    "Convolution": "convolve correlate Convolver Plan",
    "Deconvolution": "richardson_lucy wiener Deconvolver Iteration correct_bleaching",
    "Filters": "channelize synthesize Channelizer Synthesizer prototype_filter dual_prototype filter_bank FilterBank "
               "FilterPlan StreamFilter",
    "Templates in signals": "correlation_peaks CorrelationBank divide_by_noise chirp_bank spectral_chirp_bank",
    "Templates in images": "match_template masked_correlation find_peaks",
    "Resampling": "Resampler convert_rate RateConverter",
    "Point spread functions": "make_psf psf_facts resample_kernel psf_from_beads BeadPsf psfs_from_beads RegionPsf "
                              "fit_psf FittedPsf refine_psf RefinedPsf RefinedParameter",
    "Several views of one object": "View ViewDeconvolver ForwardModel voxel_transform",
    "Stage scans of light sheets": "deskew",
    "Specimens and the camera": "Phantom Camera",
    "Files": "open save Image open_signal save_signal Signal",
    "Images in blocks": "process plan_process process_status ProcessReport ProcessPlan",
    "GPUs": "gpu_devices GpuDevice",
    "Errors": "Error InvalidArgument BadData OutOfMemory Unavailable DeviceFailure InputNotFound OutputExists "
              "CannotCreate FileFailure Cancelled BlocksFailed",
    "Warnings": "ConvolumeWarning",
}
# Classes, apart from dataclasses, whose constructors callers do not need.
MADE_BY_CONVOLUME = {"Plan", "Image", "Signal"}
INTRODUCTION = """# Python: reference

All names of the package `convolume`. Drop-ins for other libraries' functions have pages of their own:
[`convolume.signal`](signal.md), [`convolume.ndimage`](ndimage.md), [`convolume.restoration`](restoration.md). So have
convolutions with gradients, [`convolume.torch`](torch.md) and [`convolume.jax`](jax.md), and the cache of plans,
[`convolume.cache`](cache.md). [Using the package](../index.md) is the guide to all of them.
"""
WRITTEN = "<!-- Written by scripts/python_reference.py from the docstrings in python/convolume. -->\n\n"
ROLE = re.compile(r":(?:attr|class|data|func|meth|mod):`~?([\w.]+)`")
SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.M)


class Reference:
    """The documented objects of the package, and the page of each."""

    def __init__(self):
        self.package = griffe.load("convolume", search_paths=[ROOT / "python"], allow_inspection=False)
        self.places = {f"convolume.{name}": "index.md" for names in OUTLINE.values() for name in names.split()}
        missing = self.public(self.package) - {name.rpartition(".")[2] for name in self.places} - {"__version__"}
        if missing:
            sys.exit(f"{__file__}: OUTLINE lacks {', '.join(sorted(missing))}")
        for module in MODULES:
            self.places[f"convolume.{module}"] = f"{module}.md"
            for name in self.public(self.package[module]):
                self.places[f"convolume.{module}.{name}"] = f"{module}.md"

    @staticmethod
    def public(module):
        return {str(name) for name in module.exports}

    def link(self, name, page, home):
        """Returns a link to a name, as `page` writes it. Names without a package are looked up in the module `home`."""
        path = name if name.partition(".")[0] == "convolume" else f"{home}.{name}"
        owner = path
        while owner not in self.places:
            owner = owner.rpartition(".")[0]
            if owner in ("", "convolume"):
                raise LookupError(f"no page describes {name}, which a docstring on {page} names")
        is_method = path != owner and self.object(path).is_function
        return f"[`{name}`]({self.target(path if is_method else owner, page, owner)})"

    def target(self, path, page, owner=None):
        """Returns the relative address of the heading of a class or function, or of a method of the class `owner`."""
        owner = owner or path
        place = "" if self.places[owner] == page else self.places[owner]
        if owner.rpartition(".")[2] in MODULES:
            return self.places[owner]
        heading = path[len(owner.rpartition(".")[0]) + 1:]
        return f"{place}#{heading.replace('.', '').lower()}"

    def object(self, path):
        found = self.package[path.partition(".")[2]]
        return found.final_target if found.is_alias else found


def first_sentence(text):
    """Returns the first sentence, which an abbreviation in parentheses does not end."""
    paragraph = text.strip().partition("\n\n")[0].replace("\n", " ")
    for end in re.finditer(r"\.(?= |$)", paragraph):
        sentence = paragraph[:end.end()]
        if sentence.count("(") == sentence.count(")"):
            return sentence
    return paragraph


def signature(function, name):
    """Returns the signature as Python code. `self` is left out, and keywords of ``**options`` are shown."""
    parameters = [one for one in function.parameters if one.name not in ("self", "cls")]
    described = function.docstring.value if function.docstring else ""
    if function.path in SIGNATURES and parameters and parameters[-1].kind is griffe.ParameterKind.var_keyword:
        options = parameters.pop()
        parameters += [griffe.Parameter(keyword, kind=griffe.ParameterKind.keyword_only, default=default)
                       for keyword, default in SIGNATURES[function.path].items()]
        if f"**{options.name}" in described:
            parameters.append(options)
    shown, kinds = [], griffe.ParameterKind
    for number, one in enumerate(parameters):
        before = parameters[number - 1].kind if number else None
        if before is kinds.positional_only and one.kind is not kinds.positional_only:
            shown.append("/")
        if one.kind is kinds.keyword_only and before not in (kinds.keyword_only, kinds.var_positional):
            shown.append("*")
        star = {kinds.var_positional: "*", kinds.var_keyword: "**"}.get(one.kind, "")
        has_default = one.default is not None and not star
        shown.append(f"{star}{one.name}" + (f"={one.default}" if has_default else ""))
    # A default such as (0, 0) stays on one line.
    whole = ", ".join(text.replace(" ", "\0") for text in shown)
    lines = textwrap.wrap(f"{name}({whole})", 100, subsequent_indent=" " * (len(name) + 1), break_long_words=False,
                          break_on_hyphens=False)
    return "```python\n" + "\n".join(lines).replace("\0", " ") + "\n```\n"


class Page:
    """The Markdown of one page."""

    def __init__(self, reference, name):
        self.reference, self.name, self.home = reference, name, "convolume"

    def linked(self, text):
        return ROLE.sub(lambda role: self.reference.link(role[1], self.name, self.home), text)

    def typed(self, kind):
        """Returns a type as code, unless it holds code or links."""
        return self.linked(kind) if "`" in kind else f"`{kind}`"

    def item(self, head, body):
        body = textwrap.dedent(body).strip("\n")
        text = f"- {head}" + (f": {body}" if body else "")
        return textwrap.indent(self.linked(text), "    ").strip() + "\n"

    def items(self, text, names_come_first):
        """Returns the entries of a section as a list: `name : type` or `type`, each with an indented description."""
        # A first line may go on: after a comma, and for results, which have no name.
        text = re.sub(r",\n(?=\S)", ", ", text)
        if not names_come_first:
            text = re.sub(r"^(\S.*)\n(?=\S(?!.* : ))", r"\1 ", text, flags=re.M)
        result = ""
        for entry in re.split(r"\n+(?=\S)", text.strip("\n")):
            head, _, body = entry.partition("\n")
            names, _, kind = head.partition(" : ")
            if not names_come_first and not kind:
                head = self.errors(names)
            else:
                head = ", ".join(f"**`{one}`**" for one in names.split(", "))
                head += f" ({self.typed(kind)})" if kind else ""
            result += self.item(head, body)
        return result

    def errors(self, names):
        """Returns the errors of an entry, each a link, or a type as it is."""
        if not all(f"convolume.{name}" in self.reference.places for name in names.split(", ")):
            return self.typed(names)
        return ", ".join(f"[`{name}`]({self.reference.target(f'convolume.{name}', self.name)})"
                         for name in names.split(", "))

    def docstring(self, text, is_result=False):
        """Returns a docstring of NumPy's style as Markdown."""
        opening, *sections = SECTION.split(text.strip("\n"))
        parts = [self.linked(opening.strip())]
        for title, body in zip(sections[::2], sections[1::2]):
            if title in ("Parameters", "Attributes"):
                title = "Attributes" if is_result else title
                parts.append(f"**{title}**\n\n" + self.items(body, True))
            elif title in ("Returns", "Raises", "Yields"):
                parts.append(f"**{title}**\n\n" + self.items(body, False))
            elif title == "Examples":
                parts.append("**Examples**\n\n" + self.examples(body))
            else:
                parts.append(f"**{title}**\n\n" + self.linked(body.strip()))
        return "\n\n".join(part.strip() for part in parts if part.strip()) + "\n"

    def examples(self, text):
        """Returns sessions of Python in fences, and the text between them as it is."""
        parts = []
        for paragraph in re.split(r"\n\s*\n", text.strip("\n")):
            is_session = paragraph.lstrip().startswith(">>>")
            parts.append(f"```pycon\n{paragraph}\n```" if is_session else self.linked(paragraph))
        return "\n\n".join(parts).replace("\n```\n\n```pycon\n", "\n\n")

    def function(self, function, name, level):
        called = name if "classmethod" in function.labels else name.rpartition(".")[2]
        text = f"{'#' * level} `{name}`\n\n" + signature(function, called)
        return text + "\n" + (self.docstring(function.docstring.value) if function.docstring else "")

    def bases(self, cls):
        """Returns the bases of a class that are documented or Python's own, of private ones their bases."""
        for base in map(str, cls.bases):
            if f"convolume.{base}" in self.reference.places:
                yield f"[`{base}`]({self.reference.target(f'convolume.{base}', self.name)})"
            elif hasattr(builtins, base):
                yield f"`{base}`"
            elif base.startswith("_"):
                yield from self.bases(next(one for one in cls.resolved_bases if one.name == base))

    def members(self, cls):
        """Returns documented members, in the order of the source, and those of private bases."""
        members = {}
        for base in cls.resolved_bases:
            if base.name.startswith("_"):
                members |= self.members(base)
        for name, member in cls.members.items():
            is_public = not name.startswith("_") or (name.startswith("__") and name != "__init__")
            if is_public and not member.is_alias and member.docstring:
                members[name] = member
        return members

    def cls(self, cls, level):
        is_result = "dataclass" in cls.labels or cls.name in MADE_BY_CONVOLUME
        text = f"{'#' * level} `{cls.name}`\n\n"
        constructor = cls.members.get("__init__")
        if constructor is not None and not is_result:
            text += signature(constructor, cls.name) + "\n"
        if bases := ", ".join(self.bases(cls)):
            text += f"Bases: {bases}\n\n"
        text += self.docstring(cls.docstring.value, is_result)
        if constructor is not None and constructor.docstring and not is_result:
            text += "\n" + self.docstring(constructor.docstring.value)
        members = self.members(cls)
        attributes = {name: one for name, one in members.items() if one.is_attribute}
        if attributes:
            text += "\n" + ("" if "\n**Attributes**\n" in text else "**Attributes**\n\n")
            for name, one in attributes.items():
                kind = f" (`{one.annotation}`)" if one.annotation is not None else ""
                text += self.item(f"**`{name}`**{kind}", one.docstring.value)
        for name, one in members.items():
            if one.is_function:
                text += "\n" + self.function(one, f"{cls.name}.{name}", 4)
        return text

    def entry(self, path, level):
        """Returns the description of a class or function."""
        target = self.reference.object(path)
        self.home = "convolume" if target.module.name.startswith("_") else target.module.path
        return self.cls(target, level) if target.is_class else self.function(target, target.name, level)

    def contents(self, paths):
        """Returns a table of names with the first sentence of each."""
        rows = "| name | |\n|---|---|\n"
        for path in paths:
            target = self.reference.object(path)
            self.home = "convolume" if target.module.name.startswith("_") else target.module.path
            rows += f"| [`{target.name}`](#{target.name.lower()}) | "
            rows += self.linked(first_sentence(target.docstring.value)) + " |\n"
        return rows


def pages():
    """Returns the text of each page."""
    reference = Reference()
    page = Page(reference, "index.md")
    contents = details = ""
    for section, names in OUTLINE.items():
        paths = [f"convolume.{name}" for name in names.split()]
        contents += f"\n**[{section}](#{section.lower().replace(' ', '-')})**\n\n" + page.contents(paths)
        details += f"\n## {section}\n" + "".join("\n" + page.entry(path, 3) for path in paths)
    texts = {"index.md": WRITTEN + INTRODUCTION + contents + details}
    for module in MODULES:
        page = Page(reference, f"{module}.md")
        page.home = f"convolume.{module}"
        paths = [f"{page.home}.{name}" for name in sorted(reference.public(reference.package[module]))]
        text = f"# `{page.home}`\n\n" + page.docstring(reference.package[module].docstring.value) + "\n"
        texts[page.name] = WRITTEN + text + page.contents(paths) + "".join("\n" + page.entry(path, 2) for path in paths)
    return texts


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="fail if a page is out of date")
    check = parser.parse_args().check
    outdated = []
    for name, text in pages().items():
        file = PAGES / name
        if check and file.read_text(encoding="utf-8") != text:
            outdated.append(file.relative_to(ROOT))
        elif not check:
            file.write_text(text, encoding="utf-8")
    if outdated:
        sys.exit(f"out of date: {', '.join(map(str, outdated))}; run scripts/docs.sh --reference")


if __name__ == "__main__":
    main()
