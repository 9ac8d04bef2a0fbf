# SPDX-License-Identifier: Apache-2.0
"""Describe the contents of a wheel for scanners, in CycloneDX format, as PEP 770 specifies."""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ffi_build.wheels.sources import Source

FILE = "sboms/cpkg-codecs.cdx.json"
"""The path of the SBOM below the .dist-info folder."""


def make(name: str, version: str, wheel: str, sources: Sequence[Source]) -> str:
    """Return the SBOM of a wheel as JSON; `wheel`, its unique name, determines the serial number."""
    own = {"type": "library", "bom-ref": "cpkg", "name": name, "version": version, "purl": f"pkg:pypi/{name}@{version}"}
    components = [
        {
            "type": "library",
            "bom-ref": source.name,
            "name": source.name,
            "version": source.version,
            "purl": source.purl,
            "licenses": [{"license": {"id": source.licence}}],
            "properties": [
                {"name": "cpkg:archive", "value": source.archive},
                {"name": "cpkg:archive-sha256", "value": source.sha256},
            ],
            "pedigree": {"patches": [_patch(path) for path in source.patches]},
        }
        for source in sources
    ]
    document = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, wheel)}",
        "version": 1,
        "metadata": {"component": {**own, "licenses": [{"license": {"id": "Apache-2.0"}}]}},
        "components": components,
        "dependencies": [
            {"ref": "cpkg", "dependsOn": [source.name for source in sources]},
            *({"ref": source.name} for source in sources),
        ],
    }
    return json.dumps(document, indent=2) + "\n"


def _patch(path: Path) -> dict[str, Any]:
    """Return a patch in CycloneDX form, with its full text: the reason, the proof and the diff."""
    text = {"contentType": "text/x-diff", "content": path.read_text(encoding="utf-8")}
    return {"type": "unofficial", "diff": {"text": text}}
