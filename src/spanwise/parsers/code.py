"""Source code: the text is the unchanged source; classes and functions are its headings.

Rules
    1. Tree-sitter finds the definitions, also in code with errors. Definitions inside a function
       are part of the function.
    2. A definition begins with the comments and decorators directly above it. Its heading ends
       with its signature, and its title is its qualified name: `Stack.push`.
    3. Without the grammars (`pip install 'spanwise[code]'`) the file is plain text, with a warning.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePosixPath
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple, cast

from spanwise.parsers.formats import INTERPRETERS, LANGUAGES
from spanwise.parsers.parsed import Parsed, Source
from spanwise.parsers.properties import file_title
from spanwise.parsers.text import Decoded, decode_text
from spanwise.types import Heading

if TYPE_CHECKING:
    from tree_sitter import Node
    from tree_sitter_language_pack import SupportedLanguage


_MAX_CHARS = 20_000_000
"""Maximum length of code; the tree of longer, generated code would take gigabytes."""
_MAX_SECONDS = 10
"""Time limit. Code takes 1 s per MB; prose with the extension of code can backtrack endlessly."""
_MAX_NODES = 5_000_000
_READ_BYTES = 1 << 16
_MAX_NAME_CHARS = 200
_MAX_DEPTH = 7
_MAX_LEAD_LINES = 200
_SHEBANG = re.compile(r"#!\s*\S*/(?:env\s+(?:-S\s+)?)?([a-z]+)")
_LEAD = re.compile(r"\s*(?:#|//|/\*|\*|@|--|\[\w)")
"""Beginning of a comment or decorator that belongs to the definition below it."""

_TYPES = frozenset(
    "class_declaration class_definition class_specifier abstract_class_declaration class module "
    "internal_module interface_declaration protocol_declaration trait_declaration trait_definition "
    "trait_item enum_declaration enum_definition enum_item enum_specifier record_declaration "
    "annotation_type_declaration type_alias_declaration type_spec struct_declaration struct_item "
    "struct_specifier union_item union_specifier impl_item object_declaration object_definition "
    "namespace_declaration namespace_definition mod_item".split()
)
"""Syntax nodes that contain definitions, in any of the languages."""

_FUNCTIONS = frozenset(
    "function_declaration function_definition function_item function_signature_item "
    "generator_function_declaration method_declaration method_definition method singleton_method "
    "constructor_declaration macro_definition variable_declarator".split()
)
"""Syntax nodes of functions; a variable is one if its value is a function."""

_BODIED = frozenset(
    "class_specifier enum_specifier struct_specifier union_specifier mod_item "
    "namespace_definition".split()
)
"""Syntax nodes that are definitions only with a body, unlike `struct point p;` and `mod tests;`."""

_OUTER = frozenset(
    "decorated_definition export_statement template_declaration lexical_declaration "
    "type_declaration type_definition".split()
)
"""Syntax nodes that wrap a definition with its prefix, such as decorators."""


def parse_code(source: Source) -> Parsed:
    """Return the unchanged source, with its classes and functions as headings.

    Raises:
        ParseError: "binary" if the bytes are not text, "no_text" if they are white space.
    """
    decoded = decode_text(source)
    language = _language(source.name, decoded.text)
    if language is None:
        return _plain(source, decoded, "text/plain")
    media_type = f"text/x-{language}"
    if len(decoded.text) > _MAX_CHARS:
        cause = f"it has more than {_MAX_CHARS} characters; read without classes and functions"
        return _plain(source, decoded, media_type, cause)
    try:
        data = decoded.text.encode("utf-8")
        definitions = _in_chars(_find_definitions(data, language), data)
    except ValueError:
        cause = f"it takes too long to parse as {language}; it was read as plain text"
        return _plain(source, decoded, media_type, cause)
    except ImportError:
        cause = "read without classes and functions; to find them: pip install 'spanwise[code]'"
        return _plain(source, decoded, media_type, cause)
    return Parsed(
        text=decoded.text,
        media_type=media_type,
        title=file_title(source.name),
        headings=tuple(_headings(decoded.text, definitions)),
        warnings=decoded.warnings,
    )


def _plain(source: Source, decoded: Decoded, media_type: str, *causes: str) -> Parsed:
    return Parsed(
        text=decoded.text,
        media_type=media_type,
        title=file_title(source.name),
        warnings=(*decoded.warnings, *causes),
    )


def _language(name: str, text: str) -> str | None:
    """Return the language by the extension of a file, or by the first line of a script."""
    by_name = LANGUAGES.get(PurePosixPath(file_title(name).lower()).suffix)
    match = _SHEBANG.match(text)
    return by_name or (INTERPRETERS.get(match[1]) if match else None)


class _Definition(NamedTuple):
    """Class, function or similar; offsets are in bytes."""

    start: int
    """Start offset, decorators included."""
    signature_end: int
    end: int
    name: str
    is_function: bool


def _find_definitions(data: bytes, language: str) -> list[_Definition]:
    """Return the definitions of a UTF-8 source by start offset, outer ones first.

    Raises:
        ImportError: If the grammars are not installed.
        ValueError: If the time limit is reached, or there are too many nodes.
    """
    from tree_sitter_language_pack import get_parser

    end = monotonic() + _MAX_SECONDS
    # The library has a Literal type of all language names; a test checks those of Spanwise.
    tree = get_parser(cast("SupportedLanguage", language)).parse(
        lambda offset, _: data[offset : offset + _READ_BYTES],
        progress_callback=lambda *_: monotonic() > end,
    )
    definitions = []
    outer: Node | None = None
    for node in _walk(tree.root_node):
        if node.type in _OUTER:
            if outer is None or outer.end_byte < node.end_byte:
                outer = node
            continue
        around = outer if outer is not None and outer.end_byte >= node.end_byte else None
        if name := _name(node, around, data):
            definitions.append(
                _Definition(
                    start=node.start_byte if around is None else around.start_byte,
                    signature_end=_signature_end(node),
                    end=node.end_byte,
                    name=name,
                    is_function=node.type in _FUNCTIONS,
                )
            )
            outer = None
    return definitions


def _walk(root: Node) -> Iterator[Node]:
    """Yield the nodes that may be definitions, in order, except those inside functions.

    The tree is walked directly, because tree-sitter queries are quadratic for unclosed brackets.

    Raises:
        ValueError: If there are too many nodes.
    """
    cursor = root.walk()
    for _ in range(_MAX_NODES):
        node = cursor.node
        if node is None:
            return
        is_function = False
        if node.is_named:
            is_function = _is_function(node)
            if is_function or node.type in _TYPES or node.type in _OUTER:
                yield node
        if not is_function and cursor.goto_first_child():
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return
    raise ValueError(f"more than {_MAX_NODES} nodes")


def _is_function(node: Node) -> bool:
    if node.type == "variable_declarator":
        value = node.child_by_field_name("value")
        return value is not None and value.type in ("arrow_function", "function_expression")
    return node.type in _FUNCTIONS


def _name(node: Node, outer: Node | None, data: bytes) -> str:
    """Return the name of a definition; empty if the node is not a definition."""
    if node.type in _BODIED and node.child_by_field_name("body") is None:
        return ""
    found = node.child_by_field_name("name")
    if found is None and node.type == "impl_item":
        found = node.child_by_field_name("type")
    if found is None:  # in C, the name is inside nested declarators
        found = node.child_by_field_name("declarator")
        if found is None and outer is not None:  # of an anonymous struct: typedef struct {} name;
            found = outer.child_by_field_name("declarator")
        while found is not None and (inner := found.child_by_field_name("declarator")):
            found = inner
    if found is None:  # in Kotlin, it is a child without a field
        found = next((child for child in node.children if child.type.endswith("identifier")), None)
    name = _text(found, data)
    receiver = node.child_by_field_name("receiver")  # of a method in Go
    owner = _text(receiver, data).strip("()").rpartition(" ")[2].lstrip("*") if receiver else ""
    return f"{owner}.{name}" if owner and name else name


def _text(node: Node | None, data: bytes) -> str:
    written = data[node.start_byte : node.end_byte] if node is not None else b""
    return " ".join(written.decode("utf-8", "replace").split())[:_MAX_NAME_CHARS]


def _signature_end(node: Node) -> int:
    """Return the offset of the body of a definition; its end if it has no body."""
    holder: Node | None = node
    if node.child_by_field_name("body") is None:
        holder = node.child_by_field_name("value")
    body = holder.child_by_field_name("body") if holder is not None else None
    if holder is None or body is None:
        return node.end_byte
    before = (child for child in holder.children if child.end_byte <= body.start_byte)
    ends = [child.end_byte for child in before if not child.type.endswith("comment")]
    return max(ends, default=node.end_byte)


def _in_chars(definitions: Sequence[_Definition], data: bytes) -> list[_Definition]:
    """Return definitions with offsets in characters."""
    if data.isascii():
        return list(definitions)
    places = {place for found in definitions for place in found[:3]}
    chars: dict[int, int] = {}
    char = last = 0
    for place in sorted(places):
        char += len(data[last:place].decode("utf-8", "replace"))
        chars[place] = char
        last = place
    return [
        found._replace(
            start=chars[found.start],
            signature_end=chars[found.signature_end],
            end=chars[found.end],
        )
        for found in definitions
    ]


def _headings(text: str, definitions: Iterable[_Definition]) -> Iterator[Heading]:
    outer: list[_Definition] = []
    last = 0
    for definition in definitions:
        while outer and outer[-1].end <= definition.start:
            outer.pop()
        if len(outer) >= _MAX_DEPTH or (outer and outer[-1].is_function) or not definition.name:
            continue
        line_end = text.find("\n", definition.start)
        signature = text[definition.start : definition.signature_end].rstrip()
        end = definition.start + len(signature)
        if definition.signature_end == definition.end and 0 <= line_end < end:
            end = definition.start + len(text[definition.start : line_end].rstrip())
        start = _lead_start(text, definition.start, last)
        start = end - len(text[start:end].lstrip())  # a control character may count as a name
        if last <= start < end:
            name = ".".join((*(item.name for item in outer), definition.name))
            yield Heading(start=start, end=end, level=len(outer) + 1, title=name)
            last = end
            outer.append(definition)


def _lead_start(text: str, start: int, stop: int) -> int:
    """Return the offset of the comments and decorators directly above a definition.

    Args:
        text: The source.
        start: Start offset of the definition.
        stop: End offset of the heading before it.
    """
    found = start
    line_start = text.rfind("\n", stop, start) + 1
    if line_start <= stop or text[line_start:start].strip():
        return start
    for _ in range(_MAX_LEAD_LINES):
        above = text.rfind("\n", stop, line_start - 1) + 1
        if above <= stop and stop:
            break
        line = text[above : line_start - 1]
        if not _LEAD.match(line):
            break
        found = above + len(line) - len(line.lstrip())
        line_start = above
        if not above:
            break
    return found
