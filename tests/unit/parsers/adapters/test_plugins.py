"""Parsers of other packages run under our limits, and what they give is checked."""

from __future__ import annotations

from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path

import pytest

from spanwise.errors import OptionError, ParseError
from spanwise.options import ParseOptions
from spanwise.parsers import plugins
from spanwise.parsers.parsed import Parsed, Source
from spanwise.parsers.plugins import check_parser, parse_with
from spanwise.parsers.process.isolation import ParserPool

SOURCE = Source(data=b"some text", name="a.txt")


def upper(source: Source) -> Parsed:
    return Parsed(text=source.data.decode().upper(), media_type="text/plain")


def nothing(source: Source) -> Parsed:
    return Parsed(text=" ", media_type="text/plain")


def no_document(source: Source) -> str:
    return source.name


def failing(source: Source) -> Parsed:
    raise KeyError("x")


def refusing(source: Source) -> Parsed:
    raise source.error("encrypted", "it is locked")


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register the functions of this file as parsers."""
    functions = (upper, nothing, no_document, failing, refusing)
    entries = {
        function.__name__: _Entry(function.__name__, f"x:{function.__name__}", "spanwise.parsers")
        for function in functions
    }
    for function in functions:
        _LOADED[function.__name__] = function

    def entry_points(*, group: str, name: str | None = None) -> EntryPoints:
        found = entries.values() if name is None else [entries[name]] if name in entries else []
        return EntryPoints(found if group == "spanwise.parsers" else ())

    monkeypatch.setattr(plugins, "entry_points", entry_points)


_LOADED: dict[str, object] = {}


class _Entry(EntryPoint):
    def load(self) -> object:
        return _LOADED[self.name]


@pytest.mark.usefixtures("registered")
def test_registered_parser_reads() -> None:
    """By its name."""
    check_parser("upper")
    assert parse_with("upper", SOURCE).text == "SOME TEXT"


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize(
    ("name", "code", "cause"),
    [
        ("nothing", "no_text", "found no text"),
        ("no_document", "crashed", "returned a str"),
        ("failing", "crashed", "KeyError: 'x'"),
        ("refusing", "encrypted", "locked"),
    ],
)
def test_what_is_no_document_is_an_error(name: str, code: str, cause: str) -> None:
    """Nothing is silently empty, and nothing of others is believed."""
    with pytest.raises(ParseError, match=cause) as caught:
        parse_with(name, SOURCE)
    assert caught.value.code == code


@pytest.mark.usefixtures("registered")
def test_unknown_parser_is_refused_before_anything_is_read() -> None:
    """With those that are known."""
    with pytest.raises(OptionError, match="no installed package offers it"):
        ParserPool(options=ParseOptions(parser="missing"))


def test_adapter_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where its package is not installed."""
    monkeypatch.setattr(plugins, "find_spec", lambda name: None)
    with pytest.raises(OptionError, match=r"pip install 'spanwise\[docling\]'"):
        check_parser("docling")


PLUGIN = """
from spanwise.parsers.parsed import Parsed

def parse(source):
    import os
    if source.data == b"exit":
        os._exit(3)
    told = os.environ.get("DO_NOT_TRACK")
    return Parsed(text=f"{source.data.decode()} {told}", media_type="text/plain")
"""


def test_parser_of_a_package_runs_in_the_parsing_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Found by its entry point; when it takes the process down, that is told."""
    folder = tmp_path / "site"
    (folder / "own-1.0.dist-info").mkdir(parents=True)
    (folder / "own-1.0.dist-info" / "METADATA").write_text("Name: own\nVersion: 1.0\n")
    (folder / "own-1.0.dist-info" / "entry_points.txt").write_text(
        "[spanwise.parsers]\nown = own_parser:parse\n"
    )
    (folder / "own_parser.py").write_text(PLUGIN)
    monkeypatch.syspath_prepend(folder)
    with ParserPool(options=ParseOptions(parser="own")) as pool:
        (tmp_path / "a.txt").write_text("hello")
        (tmp_path / "b.txt").write_text("exit")
        read = pool.parse(
            tmp_path / "a.txt", document_id="a", source="a.txt", source_root=str(tmp_path)
        )
        assert read.text == "hello 1"
        with pytest.raises(ParseError) as caught:
            pool.parse(
                tmp_path / "b.txt", document_id="b", source="b.txt", source_root=str(tmp_path)
            )
    assert caught.value.code == "crashed"
