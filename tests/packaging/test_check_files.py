from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def check_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return the checker of files, at work on an empty project."""
    spec = importlib.util.spec_from_file_location("check_files", ROOT / ".ci" / "check_files.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    return module


def test_a_source_of_more_than_800_lines_is_named(
    check_files: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "long.py").write_text("x = 1\n" * 801)
    (tmp_path / "src" / "short.py").write_text("x = 1\n" * 800)
    assert check_files.main() == 1
    said = capsys.readouterr().out
    assert said.startswith("src/long.py:801: more than 800 lines")


def test_a_function_of_more_than_60_lines_without_its_docstring_is_named(
    check_files: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "src").mkdir()
    docstring = '    """First line.\n\n    Last line.\n    """\n'
    text = f"def short():\n{docstring}" + "    x = 1\n" * 59
    text += "def long():\n" + "    x = 1\n" * 60
    (tmp_path / "src" / "functions.py").write_text(text)
    assert check_files.main() == 1
    assert capsys.readouterr().out.startswith("src/functions.py:65: long has more than 60 lines")


def test_an_exception_for_a_short_function_is_named(
    check_files: ModuleType,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "functions.py").write_text("def short():\n    return 1\n")
    monkeypatch.setattr(check_files, "LONG_FUNCTIONS", {"src/functions.py": {"short"}})
    assert check_files.main() == 1
    assert "short is short now" in capsys.readouterr().out


@pytest.mark.parametrize("path", ["home/someone", "root/x", "work/x", "Users/x"])
def test_a_path_of_one_machine_is_named(
    check_files: ModuleType, tmp_path: Path, path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "README.md").write_text(f"one\nsee /{path}\n")
    assert check_files.main() == 1
    assert capsys.readouterr().out.startswith("README.md:2: path of a developer's machine")


@pytest.mark.parametrize("text", ["https://example.com/home/x", "docs/mnt/x", "in /usr/bin/env"])
def test_other_paths_are_allowed(check_files: ModuleType, tmp_path: Path, text: str) -> None:
    (tmp_path / "README.md").write_text(text)
    assert check_files.main() == 0
