# SPDX-License-Identifier: Apache-2.0
"""Renders a recipe of rattler-build with the variants beside it, which finds unknown keys and undefined variables.
scripts/lint.sh runs it."""

import sys
from pathlib import Path

from rattler_build import Stage0Recipe, VariantConfig


def main():
    recipe = Path(sys.argv[1])
    variants = VariantConfig.from_file(str(recipe.with_name("variants.yaml")))
    for rendered in Stage0Recipe.from_file(str(recipe)).render(variants):
        package = rendered.recipe.package
        print(f"{recipe}: {package.name} {package.version}")


if __name__ == "__main__":
    main()
