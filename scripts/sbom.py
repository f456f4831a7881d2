#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the SBOM of a release as CycloneDX JSON: the project, the packages of Debian that it is built with, and those
of PyPI that the Python package needs or may use.

    scripts/sbom.py > convolume.cdx.json

The packages of Debian are the groups `build` and `python` of scripts/packages.txt, with the versions that are installed
here. The same commit on the same system gives the same bytes: the time is SOURCE_DATE_EPOCH, and the serial number
follows from the content.
"""

import datetime
import json
import os
import re
import subprocess
import sys
import tomllib
import uuid
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TOOLS = {"cmake", "g++", "make", "ninja-build", "python3-venv"}  # they build, and are no part of the result


def installed_version(package):
    """Returns the version of an installed package of Debian, or None."""
    result = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", package], capture_output=True, text=True)
    return result.stdout if result.returncode == 0 and result.stdout else None


def system_name():
    lines = (line.split("=", 1) for line in Path("/etc/os-release").read_text().splitlines() if "=" in line)
    values = {key: value.strip('"') for key, value in lines}
    return values["ID"], f"{values['ID']}-{values.get('VERSION_ID', 'rolling')}"


def debian_components():
    vendor, release = system_name()
    group = None
    for line in (ROOT / "scripts/packages.txt").read_text(encoding="utf-8").splitlines():
        words, _, comment = line.partition("#")
        if words.startswith("["):
            group = words.strip().strip("[]")
        elif group in ("build", "python") and words.strip():
            name = words.strip()
            component = {"type": "application" if name in TOOLS else "library", "name": name,
                         "description": comment.strip(), "scope": "excluded" if name in TOOLS else "required"}
            address = f"pkg:deb/{vendor}/{name.replace('+', '%2B')}"
            if version := installed_version(name):
                component["version"] = version
                address += "@" + version.replace("+", "%2B").replace(":", "%3A")
            component["purl"] = component["bom-ref"] = f"{address}?distro={release}"
            yield component


def python_components(project):
    extras = [one for requirements in project["optional-dependencies"].values() for one in requirements]
    for scope, requirements in (("required", project["dependencies"]), ("optional", extras)):
        for requirement in sorted(set(requirements)):
            name = re.match(r"[\w.-]+", requirement)[0].lower()
            address = f"pkg:pypi/{name}"
            yield {"type": "library", "name": name, "description": requirement, "scope": scope,
                   "purl": address, "bom-ref": address}


def main():
    version = subprocess.run([ROOT / "scripts/version.py"], capture_output=True, text=True, check=True).stdout.strip()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    by_reference = {one["bom-ref"]: one for one in [*python_components(project), *debian_components()]}
    components = sorted(by_reference.values(), key=lambda one: one["bom-ref"])
    main_component = {"type": "application", "name": "convolume", "version": version,
                      "description": project["description"], "licenses": [{"license": {"id": "Apache-2.0"}}],
                      "bom-ref": f"convolume@{version}"}
    bom = {"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
           "metadata": {"component": main_component},
           "components": components,
           "dependencies": [{"ref": main_component["bom-ref"],
                             "dependsOn": [one["bom-ref"] for one in components if one["scope"] == "required"]}]}
    if epoch := os.environ.get("SOURCE_DATE_EPOCH"):
        moment = datetime.datetime.fromtimestamp(int(epoch), datetime.UTC)
        bom["metadata"]["timestamp"] = moment.strftime("%Y-%m-%dT%H:%M:%SZ")
    bom["serialNumber"] = uuid.uuid5(uuid.NAMESPACE_OID, json.dumps(bom, sort_keys=True)).urn
    json.dump(bom, sys.stdout, indent=2, sort_keys=True)
    print()


if __name__ == "__main__":
    main()
