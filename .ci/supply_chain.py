"""Checks of the packages that Spanwise uses: licences, advisories, and the bill of materials.

    python .ci/supply_chain.py licences          check the licences of what an installation brings
    python .ci/supply_chain.py audit REPORT      check a report of `pip-audit --format json`
    python .ci/supply_chain.py sbom FILE         write the bill of materials (CycloneDX, JSON)

Licences and the bill of materials are read from the metadata of installed packages: those that
`pip install spanwise` and its extras bring, without the tools of development.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tomllib
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
DEVELOPMENT = ("dev", "docs", "fuzz")
"""Extras that no user of Spanwise installs."""
NOT_INSTALLED = {
    "adlfs", "docling", "fastembed", "gcsfs", "s3fs", "sentence-transformers", "unstructured"
}  # fmt: skip
"""Packages of extras that `make setup` does not install, so nothing is checked of them."""
ACCEPTED_LICENCES = {
    "0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "HPND", "ISC", "MIT",
    "MIT-0", "MIT-CMU", "MPL-2.0", "PSF-2.0", "Python-2.0", "Unlicense", "Zlib",
}  # fmt: skip
"""SPDX names of licences whose packages a closed program may use without a further condition than
notices. MPL-2.0 covers changes of the files of the package itself."""
_LESSER = "an extra; LGPL-3.0, which allows programs of any licence to import it unchanged"
ACCEPTED_PACKAGES: Mapping[str, str] = {
    "dirtyjson": "an extra; MIT or Academic Free License 2.1, as one chooses",
    "psycopg": _LESSER,
    "psycopg-binary": _LESSER,
    "psycopg-pool": _LESSER,
    "pypdfium2": "BSD-3-Clause or Apache-2.0, and PDFium under licences of that kind",
    "regex": "Apache-2.0 AND CNRI-Python, the licence of Python 1.6",
}
"""Reason for each package with another licence."""
ACCEPTED_ADVISORIES: Mapping[str, str] = {}
"""Reason for each advisory that does not concern Spanwise."""

_LICENCE_FILES = {"mistralai": "Apache-2.0", "tiktoken": "MIT", "wordllama": "MIT"}
"""Licences that are only in a file of the package."""
_CLASSIFIERS = {
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "Historical Permission Notice and Disclaimer (HPND)": "HPND",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
    "The Unlicense (Unlicense)": "Unlicense",
}
_WORDS = {
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache 2.0": "Apache-2.0",
    "Apache License 2.0": "Apache-2.0",
    "Apache License, Version 2.0": "Apache-2.0",
    "BSD": "BSD-3-Clause",
    "MIT License": "MIT",
    "PSFL": "PSF-2.0",
}
_PREFIX = "License :: OSI Approved :: "
_OPERATORS = re.compile(r"\s+(?:AND|OR|WITH)\s+|[()]")
_MAX_LICENCE_CHARS = 200  # some packages give the whole text


@dataclass(slots=True, kw_only=True)
class Package:
    """An installed package that Spanwise uses."""

    name: str
    """Normalised name."""
    version: str
    licence: str
    """SPDX expression; empty if the metadata name none."""
    is_required: bool
    """Whether it comes without an extra."""
    requires: set[str] = field(default_factory=set)
    """Names of the packages that it uses."""


def licence_of(package: Distribution) -> str:
    """Return the licence of a package as an SPDX expression; empty if it cannot be told."""
    metadata: Any = package.metadata
    expression = metadata.get("License-Expression") or _LICENCE_FILES.get(metadata["Name"])
    if expression:
        return str(expression)
    classifiers = [
        name.removeprefix(_PREFIX)
        for name in metadata.get_all("Classifier") or ()
        if name.startswith(_PREFIX)
    ]
    named = [_CLASSIFIERS.get(name, name) for name in classifiers]
    words = " ".join(str(metadata.get("License") or "").split())
    words = _WORDS.get(words, words)
    if len(words) >= _MAX_LICENCE_CHARS:
        words = ""
    if words in ACCEPTED_LICENCES and not set(named) - ACCEPTED_LICENCES:
        return words  # classifiers are less exact
    return " AND ".join(dict.fromkeys(named)) or words


def _requirements(package: Distribution, extras: set[str]) -> Iterator[Requirement]:
    """Yield the requirements of a package with extras that apply on this machine."""
    for line in package.requires or ():
        requirement = Requirement(line)
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": name}) for name in ({""} | extras)):
            yield requirement


def _walk(found: dict[str, Package], start: set[str], *, is_required: bool) -> Iterator[str]:
    """Add Spanwise and all packages that it uses; yield the names of those that are missing.

    Args:
        found: Packages by name; packages are added, and extras are followed once each.
        start: Extras of Spanwise.
        is_required: See `Package.is_required`.
    """
    pending: list[tuple[str, frozenset[str]]] = [("spanwise", frozenset(start))]
    seen: set[tuple[str, frozenset[str]]] = set()
    while pending:
        name, extras = pending.pop()
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        try:
            package = distribution(name)
        except PackageNotFoundError:
            yield name
            continue
        entry = found.setdefault(
            name,
            Package(
                name=name,
                version=package.version,
                licence=licence_of(package),
                is_required=is_required,
            ),
        )
        for requirement in _requirements(package, set(extras)):
            other = canonicalize_name(requirement.name)
            entry.requires.add(other)
            pending.append((other, frozenset(requirement.extras)))


def used_packages() -> tuple[dict[str, Package], set[str]]:
    """Return the packages that an installation with all extras brings, and those not installed."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = set(project["optional-dependencies"]) - set(DEVELOPMENT)
    found: dict[str, Package] = {}
    missing = set(_walk(found, set(), is_required=True))
    missing |= set(_walk(found, extras, is_required=False))
    for package in found.values():
        package.requires &= found.keys()
    return found, missing


def licence_faults(packages: Mapping[str, Package], missing: set[str]) -> Iterator[str]:
    """Yield a line for each package whose licence is not accepted or not known."""
    for name in sorted(missing - NOT_INSTALLED):
        yield f"{name} is not installed: run make setup, or add it to NOT_INSTALLED"
    for name, package in sorted(packages.items()):
        parts = {part.strip() for part in _OPERATORS.split(package.licence)} - {""}
        is_accepted = bool(parts) and parts <= ACCEPTED_LICENCES
        if is_accepted and name in ACCEPTED_PACKAGES:
            yield f"{name} needs no entry in ACCEPTED_PACKAGES: {package.licence}"
        elif not is_accepted and name not in ACCEPTED_PACKAGES:
            yield f"{name} {package.version}: licence {package.licence or 'unknown'!r}"


def stale_entries(packages: Mapping[str, Package], missing: set[str]) -> Iterator[str]:
    """Yield a line for each entry about a package that Spanwise does not use any more."""
    used = packages.keys() | missing
    for lists, names in (
        ("ACCEPTED_PACKAGES", set(ACCEPTED_PACKAGES)),
        ("NOT_INSTALLED", NOT_INSTALLED),
        ("_LICENCE_FILES", set(_LICENCE_FILES)),
    ):
        for name in sorted(names - used):
            yield f"{name} is not used: remove it from {lists}"


def advisory_faults(report: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line for each advisory of a report of pip-audit that is not accepted."""
    for package in report["dependencies"]:
        if "skip_reason" in package:
            yield f"{package['name']} was not audited: {package['skip_reason']}"
        for advisory in package.get("vulns", ()):
            names = {advisory["id"], *advisory.get("aliases", ())}
            if names.isdisjoint(ACCEPTED_ADVISORIES):
                fixed = ", ".join(advisory.get("fix_versions", ())) or "no version"
                yield f"{package['name']} {package['version']}: {advisory['id']}, fixed in {fixed}"


def bill_of_materials(packages: Mapping[str, Package], *, stamp: int) -> dict[str, Any]:
    """Return the bill of materials in the form of CycloneDX 1.6.

    The same packages and time give the same bytes.

    Args:
        packages: Installed packages by name, Spanwise among them.
        stamp: Time in seconds since 1970.
    """
    reference = {name: f"pkg:pypi/{name}@{package.version}" for name, package in packages.items()}
    others = [package for name, package in sorted(packages.items()) if name != "spanwise"]
    digest = json.dumps([stamp, sorted(reference.values())])
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, digest)}",
        "version": 1,
        "metadata": {
            "timestamp": f"{datetime.fromtimestamp(stamp, UTC):%Y-%m-%dT%H:%M:%SZ}",
            "component": _component(packages["spanwise"], reference),
            "properties": [
                {"name": "spanwise:versions", "value": "tested with; pyproject.toml has ranges"}
            ],
        },
        "components": [_component(package, reference) for package in others],
        "dependencies": [
            {
                "ref": reference[name],
                "dependsOn": sorted(reference[other] for other in package.requires - {name}),
            }
            for name, package in sorted(packages.items())
        ],
    }


def _component(package: Package, reference: Mapping[str, str]) -> dict[str, Any]:
    component: dict[str, Any] = {
        "type": "library",
        "bom-ref": reference[package.name],
        "name": package.name,
        "version": package.version,
        "purl": reference[package.name],
        "scope": "required" if package.is_required else "optional",
    }
    if package.name == "spanwise":
        del component["scope"]  # only components have one
    if package.licence:
        component["licenses"] = _licences(package.licence)
    return component


def _licences(licence: str) -> list[dict[str, Any]]:
    if licence in ACCEPTED_LICENCES:
        return [{"license": {"id": licence}}]
    parts = {part.strip() for part in _OPERATORS.split(licence)} - {""}
    if parts <= ACCEPTED_LICENCES:
        return [{"expression": licence}]
    return [{"license": {"name": licence}}]


def _stamp() -> int:
    """Return the time of the build (`SOURCE_DATE_EPOCH`), by default now."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    return int(given) if given else int(datetime.now(UTC).timestamp())


def _report(faults: Sequence[str]) -> int:
    for fault in faults:
        print(fault)
    return 1 if faults else 0


def main() -> int:
    """Run a command and return its exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("licences")
    commands.add_parser("audit").add_argument("report", type=Path)
    commands.add_parser("sbom").add_argument("file", type=Path)
    arguments = parser.parse_args()
    if arguments.command == "audit":
        report = json.loads(arguments.report.read_text(encoding="utf-8"))
        return _report(list(advisory_faults(report)))
    packages, missing = used_packages()
    if arguments.command == "licences":
        faults = [*licence_faults(packages, missing), *stale_entries(packages, missing)]
        return _report(faults)
    text = json.dumps(bill_of_materials(packages, stamp=_stamp()), indent=1)
    arguments.file.write_text(text + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
