"""The built wheel, in an environment of its own: what users get, not the checkout."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

import spanwise

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.slow


def run(*command: str | Path, folder: Path) -> str:
    """Run a command and return what it wrote on standard output."""
    done = subprocess.run(
        [str(part) for part in command], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the wheel, built from the checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    run(
        sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT,
        folder=folder,
    )  # fmt: skip
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def scripts(wheel: Path) -> Path:
    """Return the folder of programs of an environment that holds the wheel.

    What the wheel depends on is lent by the environment of the tests: its own packages come first.
    """
    home = wheel.parent / "environment"
    run(sys.executable, "-m", "venv", "--without-pip", home, folder=wheel.parent)
    programs = home / ("Scripts" if sys.platform == "win32" else "bin")
    run(
        sys.executable, "-m", "pip", "--python", programs / "python", "install",
        "--no-index", "--no-deps", "--quiet", wheel,
        folder=wheel.parent,
    )  # fmt: skip
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    packages = Path(run(programs / "python", "-c", code, folder=wheel.parent).strip())
    (packages / "lent.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return programs


def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    folders = {name.partition("/")[0] for name in names}
    assert folders == {"spanwise", f"spanwise-{spanwise.__version__}.dist-info"}
    assert "spanwise/py.typed" in names
    assert {Path(name).name for name in names} >= {"LICENSE", "NOTICE", "METADATA"}


def test_the_wheel_says_what_it_needs(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith("/METADATA")]
        metadata = Parser().parsestr(archive.read(name).decode("utf-8"))
    assert metadata["Version"] == spanwise.__version__
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Requires-Python"] == ">=3.11"


def test_the_installed_wheel_is_what_is_imported(scripts: Path, tmp_path: Path) -> None:
    code = "import spanwise; print(spanwise.__file__)"
    said = run(scripts / "python", "-c", code, folder=tmp_path)
    assert Path(said.strip()).is_relative_to(scripts.parent)


def test_the_installed_program_adds_and_searches(scripts: Path, tmp_path: Path) -> None:
    program = scripts / "spanwise"
    assert run(program, "--version", folder=tmp_path) == f"spanwise {spanwise.__version__}\n"
    (tmp_path / "note.md").write_text("# Note\n\nMargins fell because freight cost more.\n")
    run(program, "add", "note.md", folder=tmp_path)
    assert "freight cost more" in run(program, "search", "margins", folder=tmp_path)
