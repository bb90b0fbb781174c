"""The files of a release, built and checked by `.ci/release.py`, and the workflow that runs it."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

import spanwise

ROOT = Path(__file__).resolve().parents[2]
WORKFLOW: dict[str, Any] = yaml.safe_load(
    (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
)


def release(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, ".ci/release.py", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_a_release_is_built_with_its_checksums(tmp_path: Path) -> None:
    done = release("--folder", tmp_path)
    assert done.returncode == 0, done.stderr
    lines = (tmp_path / "SHA256SUMS").read_text(encoding="utf-8").splitlines()
    names = {name: checksum for checksum, name in (line.split("  ") for line in lines)}
    assert set(names) == {
        f"spanwise-{spanwise.__version__}-py3-none-any.whl",
        f"spanwise-{spanwise.__version__}.tar.gz",
        f"spanwise-{spanwise.__version__}.cdx.json",
    }
    bill = json.loads((tmp_path / f"spanwise-{spanwise.__version__}.cdx.json").read_bytes())
    assert bill["metadata"]["component"]["version"] == spanwise.__version__
    for name, checksum in names.items():
        assert hashlib.sha256((tmp_path / name).read_bytes()).hexdigest() == checksum


def test_a_tag_of_another_version_is_refused(tmp_path: Path) -> None:
    done = release("--folder", tmp_path, "--tag", "v99.0.0")
    assert done.returncode == 1
    assert f"v{spanwise.__version__}" in done.stderr
    assert not list(tmp_path.iterdir())


def test_a_folder_with_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "old.whl").write_text("", encoding="utf-8")
    done = release("--folder", tmp_path)
    assert done.returncode == 1
    assert "not empty" in done.stderr


def test_actions_of_the_workflow_are_pinned_to_commits() -> None:
    steps = [step for job in WORKFLOW["jobs"].values() for step in job["steps"]]
    used = [step["uses"] for step in steps if "uses" in step]
    assert used
    assert [name for name in used if not re.fullmatch(r"[\w/.-]+@[0-9a-f]{40}", name)] == []


def test_the_workflow_signs_only_what_was_built_installed_and_tagged() -> None:
    jobs = WORKFLOW["jobs"]
    assert jobs["install"]["needs"] == "build"
    assert jobs["sign"]["needs"] == "install"
    assert "tag" in jobs["sign"]["if"]
    assert WORKFLOW["permissions"] == {"contents": "read"}
    assert "permissions" not in jobs["build"]
    commands = [step.get("run", "") for step in jobs["build"]["steps"]]
    assert ".ci/run" in commands
    assert any(command.startswith(".venv/bin/python .ci/release.py") for command in commands)
