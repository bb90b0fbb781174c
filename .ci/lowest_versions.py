"""Run tests with the lowest versions that extras allow: python .ci/lowest_versions.py EXTRAS TESTS.

    python .ci/lowest_versions.py langchain,serve tests/integration/frameworks/test_langchain.py
    python .ci/lowest_versions.py serve,mcp tests/integration/test_server.py

The packages that the extras name in `pyproject.toml` are installed in exactly their lowest
versions, all others in their newest ones, into a temporary virtual environment.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import tomllib
import venv
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_TESTS_NEED = ("hypothesis", "pytest", "reportlab", "sybil")
_LOWEST = re.compile(r"([A-Za-z0-9._-]+)(?:\[[^]]*\])?>=([0-9.]+)")


def lowest_requirements(extra: str) -> list[str]:
    """Return the requirements of an extra with their lowest versions, such as "mcp==2.3"."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    stated = project["optional-dependencies"][extra]
    found = [_LOWEST.match(requirement) for requirement in stated]
    return [f"{match[1]}=={match[2]}" for match in found if match]


def run_with_lowest(extras: str, tests: Sequence[str]) -> int:
    """Install the lowest versions, run the tests, and return the exit code of pytest."""
    lowest = [one for extra in extras.split(",") for one in lowest_requirements(extra)]
    print(*lowest)
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        scripts = "Scripts" if sys.platform == "win32" else "bin"
        python = str(Path(folder) / scripts / "python")
        packages = ["--editable", f"{ROOT}[{extras}]", *_TESTS_NEED, *lowest]
        subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=True)
        command = [python, "-m", "pytest", "-q", "-W", "default", "-p", "no:cacheprovider", *tests]
        return subprocess.run(command, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(run_with_lowest(sys.argv[1], sys.argv[2:]))
