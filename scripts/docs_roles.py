# SPDX-License-Identifier: Apache-2.0
"""Extension of mkdocstrings, for mkdocs.yml: it rewrites docstrings for the parser of NumPy's style.

- Roles such as :class:`convolume.Run` and :func:`convolve` become links.
- Parameters that share a description, "a, b : float", become entries of their own: each is shown with its own default.
- Functions with ``**options: Unpack[…]`` show these keywords, with the defaults in docs/reference/options.json.
"""

import json
import re
from pathlib import Path

from griffe import Extension, Parameter, ParameterKind, Parameters

ROLE = re.compile(r":(?:attr|class|func|meth|mod):`([\w.]+)`")
SHARED = re.compile(r"^(\w+(?:, \w+)+)( : .*)?\n((?: {4}.*\n|\n(?= {4}))*)", re.M)


SIGNATURES = json.loads(Path("docs/reference/options.json").read_text(encoding="utf-8"))["signatures"]


class Roles(Extension):
    def on_object(self, *, obj, **_):
        """Rewrites the docstring of `obj`, a module, class, function or attribute, and of its members."""
        if obj.is_function and obj.path in SIGNATURES:
            _show_keywords(obj, SIGNATURES[obj.path])
        if obj.docstring:
            module = obj if obj.is_module else obj.module
            text = ROLE.sub(lambda role: _link(role[1], module), obj.docstring.value + "\n")
            obj.docstring.value = SHARED.sub(_describe_each, text)


def _show_keywords(function, defaults):
    *shown, others = function.parameters
    shown += [Parameter(name, kind=ParameterKind.keyword_only, default=default) for name, default in defaults.items()]
    described = function.docstring.value if function.docstring else ""
    function.parameters = Parameters(*shown, *([others] if f"**{others.name}" in described else []))


def _link(name, module):
    """Returns a Markdown link to a Python object. A name without a package is looked up in `module`, or in the package
    if the module is private."""
    if name.partition(".")[0] == "convolume":
        return f"[`{name}`][{name}]"
    home = "convolume" if module.name.startswith("_") else module.path
    return f"[`{name}`][{home}.{name}]"


def _describe_each(shared):
    """Returns an entry for each parameter of a match of SHARED, with the type and description that they share."""
    names, kind, description = shared.groups()
    if not description:
        return shared[0]
    return "".join(f"{name}{kind or ''}\n{description}" for name in names.split(", "))
