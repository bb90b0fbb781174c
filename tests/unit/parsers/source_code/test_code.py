"""Source code keeps its source; classes and functions are its sections."""

from __future__ import annotations

import sys
from typing import get_args

import pytest
from tree_sitter_language_pack import SupportedLanguage

from spanwise.parsers import code
from spanwise.parsers.code import parse_code
from spanwise.parsers.formats import INTERPRETERS, LANGUAGES
from spanwise.parsers.parsed import Parsed, Source


def parse(text: str, name: str) -> Parsed:
    return parse_code(Source(data=text.encode(), name=name))


def titles(parsed: Parsed) -> list[tuple[int, str]]:
    return [(heading.level, heading.title) for heading in parsed.headings]


@pytest.mark.parametrize(
    ("name", "source", "expected"),
    [
        (
            "a.py",
            "class A:\n    def f(self):\n        def g(): ...\n    async def h(self): ...\n"
            "def top(): ...\n",
            [(1, "A"), (2, "A.f"), (2, "A.h"), (1, "top")],
        ),
        ("a.js", "class A { f() {} }\nconst g = (x) => { h() };\nconst n = 1", [
            (1, "A"), (2, "A.f"), (1, "g")]),
        ("a.ts", "export interface I { x: number }\nnamespace N { function f() {} }\ntype T = 1", [
            (1, "I"), (1, "N"), (2, "N.f"), (1, "T")]),
        ("a.tsx", "export function App() { return <p/> }", [(1, "App")]),
        ("a.java", "class A { A() {} void f() {} enum E { X } }", [
            (1, "A"), (2, "A.A"), (2, "A.f"), (2, "A.E")]),
        ("a.kt", "class A {\n fun f() {}\n}\nobject O\n", [(1, "A"), (2, "A.f"), (1, "O")]),
        ("a.scala", "trait T { def f: Int }\nobject A { def g = 1 }", [
            (1, "T"), (2, "T.f"), (1, "A"), (2, "A.g")]),
        ("a.go", "type Stack struct { a int }\nfunc (s *Stack) Push(x int) {}\nfunc f() {}", [
            (1, "Stack"), (1, "Stack.Push"), (1, "f")]),
        ("a.rs", "struct S;\nimpl S { fn new() {} }\nmod m;\nmod n { fn f() {} }\ntrait T {}", [
            (1, "S"), (1, "S"), (2, "S.new"), (1, "n"), (2, "n.f"), (1, "T")]),
        ("a.c", "struct p { int x; };\nstruct p q;\nint *f(void)\n{ }\ntypedef struct {int y;} t;",[
            (1, "p"), (1, "f"), (1, "t")]),
        ("a.cpp", "namespace n { template <class T> class A { int f() { } }; }\nint A::g() {}", [
            (1, "n"), (2, "n.A"), (3, "n.A.f"), (1, "A::g")]),
        ("a.cs", "namespace N { class A { void F() {} } }", [(1, "N"), (2, "N.A"), (3, "N.A.F")]),
        ("a.rb", "module M\n class C\n  def self.x\n  end\n end\nend", [
            (1, "M"), (2, "M.C"), (3, "M.C.x")]),
        ("a.php", "<?php class A { function f() {} } function g() {}", [
            (1, "A"), (2, "A.f"), (1, "g")]),
        ("a.swift", "struct A { func f() {} }\nprotocol P {}", [(1, "A"), (2, "A.f"), (1, "P")]),
        ("a.lua", "function a.b:c() end", [(1, "a.b:c")]),
        ("a.sh", "f() {\n echo\n}", [(1, "f")]),
        ("run", "#!/usr/bin/env python3\ndef f(): ...", [(1, "f")]),
    ],
)  # fmt: skip
def test_definitions_are_a_tree(name: str, source: str, expected: list[tuple[int, str]]) -> None:
    """Under qualified names; what is defined inside a function is part of it."""
    parsed = parse(source, name)
    assert titles(parsed) == expected
    assert (parsed.text, parsed.warnings) == (source, ())


def test_definition_begins_with_what_belongs_to_it() -> None:
    """Comments and decorators above it; it goes to the end of its signature."""
    source = (
        "import x\n\n# Why: é\n@deco(\n    1,\n)\nclass A(B):\n    # f\n    def f(self,\n"
        "          x: int) -> None:\n        pass\n\nx = 1\ndef g(): pass\n"
    )
    parsed = parse(source, "a.py")
    assert [source[h.start : h.end] for h in parsed.headings] == [
        "# Why: é\n@deco(\n    1,\n)\nclass A(B):",
        "# f\n    def f(self,\n          x: int) -> None:",
        "def g():",
    ]


def test_block_comments_and_exports_belong_to_it() -> None:
    """In languages with braces."""
    source = "/**\n * Doc.\n */\nexport class A {\n  x = 1\n}\n"
    heading = parse(source, "a.ts").headings[0]
    assert source[heading.start : heading.end] == "/**\n * Doc.\n */\nexport class A"


def test_code_with_errors_is_read() -> None:
    """As far as its definitions stand."""
    assert titles(parse("def f(:\n    pass\n\nclass A:\n    def g(self): ...\n", "a.py"))[-1] == (
        2,
        "A.g",
    )


def test_title_is_the_name_of_the_file() -> None:
    """Not that of its first class."""
    assert parse("class A: ...", "lib/a.py").title == "a.py"


def test_script_of_an_unknown_language_is_text() -> None:
    """Without a warning: nothing is missing."""
    parsed = parse("#!/usr/bin/perl\nsub f {}\n", "run")
    assert (parsed.media_type, parsed.headings, parsed.warnings) == ("text/plain", (), ())


def test_without_grammars_it_is_text_with_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which names the extra."""
    monkeypatch.setitem(sys.modules, "tree_sitter_language_pack", None)
    parsed = parse("def f(): ...", "a.py")
    assert (parsed.text, parsed.headings) == ("def f(): ...", ())
    assert "spanwise[code]" in parsed.warnings[0]


@pytest.mark.parametrize(("limit", "cause"), [("_MAX_CHARS", "more than 5"), ("_MAX_NODES", "too")])
def test_what_is_too_much_is_text_with_a_warning(
    monkeypatch: pytest.MonkeyPatch, limit: str, cause: str
) -> None:
    """Characters of a file, nodes of its tree."""
    monkeypatch.setattr(code, limit, 5)
    parsed = parse("def f(): ...\n" * 9, "a.py")
    assert parsed.headings == ()
    assert cause in parsed.warnings[0]


def test_brackets_that_never_close_take_linear_time() -> None:
    """Also in the search for definitions."""
    assert parse("(" * 200_000, "a.py").headings == ()


def test_every_language_has_a_grammar() -> None:
    """Under the name that tree-sitter knows."""
    assert {*LANGUAGES.values(), *INTERPRETERS.values()} <= set(get_args(SupportedLanguage))
