# SPDX-License-Identifier: Apache-2.0
"""The tests need napari, but no screen."""

import os

import pytest

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

try:
    import napari  # noqa: F401
    import pytestqt  # noqa: F401
except ImportError as missing:
    pytest.skip(f"{missing.name} is not installed: scripts/napari.sh installs it", allow_module_level=True)
