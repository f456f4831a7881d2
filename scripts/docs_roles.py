# SPDX-License-Identifier: Apache-2.0
"""For mkdocs.yml: docstrings as its parser of NumPy's style understands them.

- Roles such as :class:`convolume.Run` and :func:`convolve` become links.
- Parameters that share a description, "a, b : float", become entries of their own: each is shown with its own default.
- Functions with ``**options: Unpack[…]`` show the keywords that these are, with the defaults that
  docs/reference/options.json has.
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
        """obj is a module, class, function or attribute."""
        if obj.is_function and obj.path in SIGNATURES:
            _show_keywords(obj, SIGNATURES[obj.path])
        if obj.docstring:
            module = obj if obj.is_module else obj.module
            text = ROLE.sub(lambda role: _link(role[1], module), obj.docstring.value + "\n")
            obj.docstring.value = SHARED.sub(_apart, text)


def _show_keywords(function, defaults):
    *shown, others = function.parameters
    shown += [Parameter(name, kind=ParameterKind.keyword_only, default=default) for name, default in defaults.items()]
    described = function.docstring.value if function.docstring else ""
    function.parameters = Parameters(*shown, *([others] if f"**{others.name}" in described else []))


def _link(name, module):
    """Names without a package are those of the same public module; those of private ones are the package's."""
    if name.partition(".")[0] == "convolume":
        return f"[`{name}`][{name}]"
    home = "convolume" if module.name.startswith("_") else module.path
    return f"[`{name}`][{home}.{name}]"


def _apart(shared):
    names, kind, description = shared.groups()
    if not description:
        return shared[0]
    return "".join(f"{name}{kind or ''}\n{description}" for name in names.split(", "))
