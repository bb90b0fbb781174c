from __future__ import annotations

import importlib.util
import re
import shlex
from pathlib import Path
from types import ModuleType
from typing import get_args
from xml.etree import ElementTree

import click
import pytest
from docs.drawings import pictures
from docs.http_reference import example_of

from spanwise import errors
from spanwise.cli.program import cli
from spanwise.options import METHOD_PRESETS
from spanwise.server.app import app_of
from spanwise.server.codes import CODES

ROOT = Path(__file__).resolve().parents[2]
DOCS = sorted((ROOT / "docs").rglob("*.md"))
PAGES = [*sorted(ROOT.glob("*.md")), ROOT / "llms.txt", *DOCS]
PUBLISHED_NAMES = [
    "RSE",
    "CCH",
    "AutoContext",
    "Document Sections",
    "max_length",
    "overall_max_length",
    "minimum_value",
    "overall_max_length_extension",
]


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    """Return the program that writes the generated pages."""
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def how_to_guides() -> str:
    folder = ROOT / "docs" / "how-to"
    return "".join(path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.md")))


def test_the_pictures_are_drawn_by_the_program() -> None:
    """Each picture is shown on a page, has a description, and is one that the program draws."""
    drawn = pictures()
    stored = {path.name: path for path in (ROOT / "docs" / "images").iterdir()}
    shown = "".join(path.read_text(encoding="utf-8") for path in DOCS)
    assert drawn.keys() == stored.keys()
    for name, text in drawn.items():
        for picture in (text, stored[name].read_text(encoding="utf-8")):
            title = ElementTree.fromstring(picture).find("{*}title")
            assert title is not None
            assert title.text
        assert f"images/{name})" in shown


def test_the_page_of_the_command_line_is_current(generate: ModuleType) -> None:
    """`make docs` was run after the last change of a command."""
    assert page("cli.md") == generate.cli_reference()


def test_the_page_of_the_options_is_current(generate: ModuleType) -> None:
    """`make docs` was run after the last change of an option."""
    assert page("options.md") == generate.options_reference()


def test_the_page_of_the_errors_is_current(generate: ModuleType) -> None:
    """`make docs` was run after the last change of an error."""
    assert page("errors.md") == generate.errors_reference()


def test_the_reference_of_the_python_api_is_current(generate: ModuleType) -> None:
    """`make docs` was run after the last change of a signature or docstring."""
    assert page("python.md") == generate.python_reference()


def test_the_reference_of_the_http_interface_is_current(generate: ModuleType) -> None:
    """`make docs` was run after the last change of a route."""
    assert page("http.md") == generate.http_reference()


def test_each_route_has_an_example() -> None:
    """Each route of the HTTP reference has commands in docs/http_examples.toml."""
    operations = app_of({}).openapi()["paths"].items()
    routes = [(method.upper(), path) for path, methods in operations for method in methods]
    assert [route for route in routes if example_of(*route) is None] == []


@pytest.mark.parametrize("code", get_args(errors.DocumentErrorCode))
def test_each_code_of_a_document_is_explained(code: str) -> None:
    assert f"| `{code}` | " in page("errors.md")


def test_each_code_of_the_server_is_explained() -> None:
    """Codes that the framework makes from a status are explained too."""
    folder = ROOT / "src" / "spanwise" / "server"
    sources = [path.read_text(encoding="utf-8") for path in folder.glob("*.py")]
    pattern = re.compile(r'(?:Problem\(\s*\d{3},\s*|_busy\()"(\w+)"')
    raised = {code for source in sources for code in pattern.findall(source)}
    assert raised | {"method_not_allowed"} == set(CODES)


def test_each_group_of_plugins_is_documented() -> None:
    source = (ROOT / "src" / "spanwise" / "models" / "registry.py").read_text(encoding="utf-8")
    groups = set(re.findall(r'group="(spanwise\.[^"]+)"', source))
    assert groups == {"spanwise.embedders", "spanwise.language_models", "spanwise.rerankers"}
    assert all(f"`{group}`" in how_to_guides() for group in groups)


@pytest.mark.parametrize("name", list(cli.commands))
def test_each_command_has_its_place_in_a_guide(name: str) -> None:
    guides = ("tutorial", "formats", "models", "packs", "evaluation", "tuning")
    names = ("../README.md", *(f"{name}.md" for name in (*guides, "evaluation-answers")))
    assert f"spanwise {name}" in "".join([how_to_guides(), *map(page, names)])


@pytest.mark.parametrize("name", [name for names in METHOD_PRESETS.values() for name in names])
def test_each_preset_is_explained(name: str) -> None:
    assert f"`{name}`" in how_to_guides()


@pytest.mark.parametrize("name", PUBLISHED_NAMES)
def test_published_names_are_in_the_glossary(name: str) -> None:
    assert name in page("glossary.md")


def anchors(path: Path) -> set[str]:
    """Return the anchors that GitHub creates for the headings of a page."""
    text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
    headings = re.findall(r"^#{1,6} (.+)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_links_between_pages_lead_somewhere(path: Path) -> None:
    """Each relative link names a file that exists, and an anchor that exists in it."""
    targets = re.findall(r"\]\(([^)\s]+)\)", path.read_text(encoding="utf-8"))
    local = [target.partition("#") for target in targets if "://" not in target]
    files = [(path.parent / name if name else path, anchor) for name, _, anchor in local]
    assert [file for file, _ in files if not file.exists()] == []
    pages = [(file, anchor) for file, anchor in files if anchor and file.suffix == ".md"]
    assert [(file, anchor) for file, anchor in pages if anchor not in anchors(file)] == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_commands_that_are_not_run_have_known_options(path: Path) -> None:
    """Indented code blocks, which no test runs, name existing commands and options."""
    text = path.read_text(encoding="utf-8").replace("\\\n", " ")
    for line in re.findall(r"^    spanwise (.+)$", text, re.MULTILINE):
        command: click.Command = cli
        words = shlex.split(line, comments=True)
        while isinstance(command, click.Group) and words and not words[0].startswith("-"):
            command = command.commands[words.pop(0)]
        known = {option for parameter in command.params for option in parameter.opts}
        options = {word.partition("=")[0] for word in words if word.startswith("--")}
        assert options - known - {"--help"} == set(), line


def test_the_map_of_the_source_tree_is_current() -> None:
    """Each file and room in the tables of the design page exists, and each room is listed."""
    text = page("DESIGN.md")
    source = ROOT / "src" / "spanwise"
    files = re.findall(r"^\| .+ \| `([\w/]+\.py)` \|$", text, re.M)
    rooms = re.findall(r"^\| `([\w/]+)` \| ", text, re.M)
    assert files
    assert [file for file in files if not (source / file).is_file()] == []
    existing = {path.name for path in source.iterdir() if (path / "__init__.py").is_file()}
    existing |= {"errors", "events", "filters", "loading", "temporary_folders", "threads"}
    assert {room for room in rooms if "/" not in room} == existing
    assert [room for room in rooms if "/" in room and not (source / room).is_dir()] == []


def test_every_target_of_make_is_said_by_help() -> None:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    (listed,) = re.findall(r"^\.PHONY: (.+)$", text, re.M)
    assert re.findall(r"^([a-z]+):.*## ", text, re.M) == listed.split()
