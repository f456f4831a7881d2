# SPDX-License-Identifier: Apache-2.0
"""For mkdocs.yml: docstrings as its parser of NumPy's style understands them.

- Roles such as :class:`convolume.Run` and :func:`convolve` become links.
- Parameters that share a description, "a, b : float", become entries of their own: each is shown with its own default.
"""

import re

from griffe import Extension

ROLE = re.compile(r":(?:attr|class|func|meth|mod):`([\w.]+)`")
SHARED = re.compile(r"^(\w+(?:, \w+)+)( : .*)?\n((?: {4}.*\n|\n(?= {4}))*)", re.M)


class Roles(Extension):
    def on_object(self, *, obj, **_):
        """obj is a module, class, function or attribute."""
        if obj.docstring:
            module = obj if obj.is_module else obj.module
            text = ROLE.sub(lambda role: _link(role[1], module), obj.docstring.value + "\n")
            obj.docstring.value = SHARED.sub(_apart, text)


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
