"""Packages that are installed: a lock with hashes, licences, advisories, the bill of materials."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from collections.abc import Mapping
from email.message import Message
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
PINNED = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^]]*\])?==([^\s;\\]+)", re.MULTILINE)
HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}\b")


@pytest.fixture(scope="module")
def chain() -> ModuleType:
    """Return the program that checks the packages."""
    path = ROOT / ".ci" / "supply_chain.py"
    spec = importlib.util.spec_from_file_location("supply_chain", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its data classes look their module up
    spec.loader.exec_module(module)
    return module


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def pinned(name: str) -> dict[str, str]:
    """Return the version of each package of a file by normalised name."""
    return {canonicalize_name(found[1]): found[2] for found in PINNED.finditer(read(name))}


def entries(name: str) -> list[str]:
    """Return the entries of a lock: a package with all its hashes."""
    lines = [line for line in read(name).splitlines() if not line.strip().startswith("#")]
    return [entry for entry in re.split(r"\n(?=\S)", "\n".join(lines)) if entry.strip()]


@pytest.mark.parametrize("name", ["requirements.lock", ".ci/audit.lock"])
def test_each_entry_of_a_lock_has_one_version_and_hashes(name: str) -> None:
    assert len(entries(name)) > 20
    for entry in entries(name):
        assert PINNED.match(entry), entry
        assert HASH.search(entry), entry
        rest = HASH.sub("", entry.replace("\\", "")).partition(";")[0]
        assert re.fullmatch(r"\S+\s*", rest.strip()), f"an option or an address: {rest}"


def test_the_lock_has_the_versions_of_the_constraints() -> None:
    """Packages of other systems are in the lock alone."""
    lock, constraints = pinned("requirements.lock"), pinned("constraints.txt")
    assert {name: lock.get(name) for name in constraints} == constraints
    others = {entry for entry in entries("requirements.lock") if ";" not in entry}
    names = {canonicalize_name(PINNED.match(entry)[1]) for entry in others}  # type: ignore[index]
    assert names - constraints.keys() <= {"langchain-tests", "setuptools"}


def test_a_set_up_installs_what_the_lock_names_and_nothing_else() -> None:
    commands = re.findall(r"^\t\$\(INSTALL\) (.+)$", read("Makefile"), re.MULTILINE)
    assert commands
    for command in commands:
        is_locked = "--require-hashes" in command and "requirements.lock" in command
        is_own = "--no-deps --no-build-isolation --editable ." in command
        assert is_locked or is_own, command


def test_licences_are_accepted(chain: ModuleType) -> None:
    packages, missing = chain.used_packages()
    assert len(packages) > 100
    assert packages["numpy"].is_required
    assert not packages["fastapi"].is_required
    assert "pytest-xdist" not in packages
    assert list(chain.licence_faults(packages, missing)) == []
    assert list(chain.stale_entries(packages, missing)) == []


def metadata(licence: str, *classifiers: str) -> SimpleNamespace:
    """Return a package with a licence in words, and classifiers of licences."""
    message = Message()
    message["Name"] = "new"
    message["License"] = licence
    for name in classifiers:
        message["Classifier"] = f"License :: OSI Approved :: {name}"
    message["Classifier"] = "Programming Language :: Python"
    return SimpleNamespace(metadata=message)


GPL = "GNU General Public License v3 (GPLv3)"


@pytest.mark.parametrize(
    ("licence", "classifiers", "expected"),
    [
        ("", ["MIT License"], "MIT"),
        ("", ["MIT License", GPL], f"MIT AND {GPL}"),
        ("MIT", [GPL], GPL),
        ("", [GPL], GPL),
        ("MIT License", [], "MIT"),
        ("BSD-2-Clause", ["BSD License"], "BSD-2-Clause"),
        ("x" * 1_000, ["MIT License"], "MIT"),
        ("x" * 1_000, [], ""),
        ("Own licence", [], "Own licence"),
        ("", [], ""),
    ],
)
def test_a_licence_is_read_from_all_metadata(
    chain: ModuleType, licence: str, classifiers: list[str], expected: str
) -> None:
    """Nothing that is not known is left out."""
    assert chain.licence_of(metadata(licence, *classifiers)) == expected
    package = chain.Package(name="new", version="1", licence=expected, is_required=True)
    is_known = expected in ("MIT", "BSD-2-Clause")
    assert bool(list(chain.licence_faults({"new": package}, set()))) == (not is_known)


def test_entries_of_packages_that_are_not_used_are_named(chain: ModuleType) -> None:
    faults = list(chain.stale_entries({}, chain.NOT_INSTALLED - {"docling"}))
    assert "docling is not used: remove it from NOT_INSTALLED" in faults
    assert "psycopg is not used: remove it from ACCEPTED_PACKAGES" in faults
    assert "tiktoken is not used: remove it from _LICENCE_FILES" in faults


@pytest.mark.parametrize(
    "licence", ["GPL-3.0-only", "MIT AND AGPL-3.0-or-later", "Own licence", ""]
)
def test_another_licence_is_named(chain: ModuleType, licence: str) -> None:
    package = chain.Package(name="new", version="1.0", licence=licence, is_required=True)
    (fault,) = chain.licence_faults({"new": package}, set())
    assert fault.startswith("new 1.0: licence")


def test_a_package_that_is_missing_is_named(chain: ModuleType) -> None:
    assert list(chain.licence_faults({}, {"fastembed"})) == []
    (fault,) = chain.licence_faults({}, {"numpy"})
    assert fault.startswith("numpy is not installed")


def report(*advisories: Mapping[str, Any]) -> dict[str, Any]:
    """Return a report of pip-audit with a package that has these advisories."""
    return {"dependencies": [{"name": "a", "version": "1.0", "vulns": list(advisories)}]}


def test_advisories_are_named_unless_they_are_accepted(
    chain: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    advisory = {"id": "PYSEC-1", "aliases": ["CVE-2026-1"], "fix_versions": ["1.1"]}
    assert list(chain.advisory_faults(report())) == []
    assert list(chain.advisory_faults(report(advisory))) == ["a 1.0: PYSEC-1, fixed in 1.1"]
    monkeypatch.setattr(chain, "ACCEPTED_ADVISORIES", {"CVE-2026-1": "not used"})
    assert list(chain.advisory_faults(report(advisory))) == []
    skipped = {"dependencies": [{"name": "b", "skip_reason": "not found"}]}
    assert list(chain.advisory_faults(skipped)) == ["b was not audited: not found"]


def test_the_audit_covers_the_lock() -> None:
    workflow: dict[Any, Any] = yaml.safe_load(read(".github/workflows/audit.yml"))
    steps = workflow["jobs"]["audit"]["steps"]
    commands = "\n".join(step.get("run", "") for step in steps)
    assert "pip-audit --require-hashes --disable-pip --requirement requirements.lock" in commands
    assert "pip install --require-hashes --requirement .ci/audit.lock" in commands
    assert "supply_chain.py audit" in commands
    assert workflow["permissions"] == {"contents": "read"}
    assert "schedule" in workflow[True], "the key `on` of YAML"
    used = [step["uses"] for step in steps if "uses" in step]
    assert [name for name in used if not re.fullmatch(r"[\w/.-]+@[0-9a-f]{40}", name)] == []


def test_the_bill_of_materials_names_every_package_once(chain: ModuleType) -> None:
    packages, _ = chain.used_packages()
    bill = chain.bill_of_materials(packages, stamp=1_700_000_000)
    assert bill == chain.bill_of_materials(packages, stamp=1_700_000_000)
    assert (bill["bomFormat"], bill["specVersion"], bill["version"]) == ("CycloneDX", "1.6", 1)
    assert re.fullmatch(r"urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", bill["serialNumber"])
    assert bill["metadata"]["timestamp"] == "2023-11-14T22:13:20Z"
    components = [bill["metadata"]["component"], *bill["components"]]
    references = [component["bom-ref"] for component in components]
    assert len(set(references)) == len(references) == len(packages)
    assert {component["name"] for component in components} == packages.keys()
    for component in components:
        assert component["purl"] == f"pkg:pypi/{component['name']}@{component['version']}"
        assert component["licenses"]
    scopes = {component["name"]: component["scope"] for component in bill["components"]}
    assert (scopes["numpy"], scopes["fastapi"]) == ("required", "optional")
    assert {entry["ref"] for entry in bill["dependencies"]} == set(references)
    for entry in bill["dependencies"]:
        assert set(entry["dependsOn"]) <= set(references)
    json.dumps(bill)


def test_versions_of_the_bill_of_materials_are_those_of_the_lock(chain: ModuleType) -> None:
    packages, _ = chain.used_packages()
    lock = pinned("requirements.lock")
    installed = {name: package.version for name, package in packages.items() if name in lock}
    assert {name: lock[name] for name in installed} == installed
    assert packages.keys() - lock.keys() == {"spanwise"}
