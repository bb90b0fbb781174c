"""HTML: paragraphs, headings, lists, tables and code as readable text.

Rules
    1. The tree is walked without recursion, so that depth cannot exhaust the stack.
    2. Text is collected until a block begins or ends, then written with collapsed white space.
    3. Elements without content (scripts, navigation, asides, footers, hidden elements) are left
       out, and if a page marks its main part, headers outside of it too. Notes in an aside, and the
       source of a quotation in a footer, are content.
    4. A table whose cells are text is a table with its caption. A table with headings, code or
       other tables is used for layout, and its cells are walked like other blocks.
    5. Elements nested deeper than browsers allow are flattened, because lexbor takes quadratic
       time for them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

from selectolax.lexbor import LexborHTMLParser, LexborNode

from spanwise.core.documents.titles import is_file_name
from spanwise.core.text.languages import read_language
from spanwise.parsers.numerals import Numeral, superscript, write_number
from spanwise.parsers.parsed import Parsed, Source
from spanwise.parsers.properties import first_date, known_fields
from spanwise.parsers.text import decode_text
from spanwise.parsers.writer import TextWriter, table_line
from spanwise.types import Scalar

_MAX_COLUMNS = 1000
"""Maximum span of a cell, and maximum number of columns that cells of earlier rows cover."""
_MAX_SPLIT = 4
"""Maximum number of cells into which a column is split; a wider cell heads several columns."""
_BEFORE_NUMBER = frozenset({"$", "€", "£", "¥", "(", "$(", "US$"})
_AFTER_NUMBER = frozenset({")", "%", ")%", "%)"})


@dataclass(frozen=True, slots=True, kw_only=True)
class TableCell:
    """Cell with the number of columns and rows that it covers."""

    text: str
    columns: int = 1
    rows: int = 1

    @classmethod
    def of(cls, text: str, attributes: Mapping[str, str | None]) -> TableCell:
        """Return a cell with the spans of its attributes."""
        return cls(
            text=text,
            columns=_read_span(attributes.get("colspan")),
            rows=_read_span(attributes.get("rowspan")),
        )


def _read_span(written: str | None) -> int:
    digits = (written or "").strip()
    return max(1, min(int(digits[:5]), _MAX_COLUMNS)) if digits.isdecimal() else 1


@dataclass(slots=True)
class TableGrid:
    """Rows under construction; a merged cell is written at its first place."""

    _rows: list[dict[int, str]] = field(default_factory=list)
    _spanned: set[int] = field(default_factory=set)
    """Columns that are merged with the column before them in some row."""
    _covered: dict[int, int] = field(default_factory=dict)
    """Number of remaining rows for which a column is covered by an earlier row."""

    def add_row(self, cells: Sequence[TableCell]) -> None:
        """Append a row; its cells fill the columns that are not covered."""
        row: dict[int, str] = {}
        covered = {column: rows - 1 for column, rows in self._covered.items() if rows > 1}
        column = 0
        for cell in cells:
            while column in self._covered:
                column += 1
            if cell.text:
                row[column] = cell.text
                if cell.columns <= _MAX_SPLIT:
                    self._spanned.update(range(column + 1, column + cell.columns))
            if cell.rows > 1:
                for place in range(column, min(column + cell.columns, _MAX_COLUMNS)):
                    covered[place] = cell.rows - 1
            column += cell.columns
        self._covered = covered
        self._rows.append(_join_signs(row))

    def lines(self) -> tuple[list[str], int]:
        """Return a line per row that is not empty, and the number of columns.

        Columns that are empty in every row are left out; other empty cells stay.
        """
        columns = self._merge_columns()
        lines = [
            table_line(["".join(row.get(part, "") for part in parts) for parts in columns])
            for row in self._rows
        ]
        return [line for line in lines if line], len(columns)

    def _merge_columns(self) -> list[list[int]]:
        """Return the columns with text, with the parts of a split column grouped.

        Filings split a column of numbers below one header into narrow ones, which are never filled
        in the same row.
        """
        rows_of: dict[int, set[int]] = {}
        for number, row in enumerate(self._rows):
            for column in row:
                rows_of.setdefault(column, set()).add(number)
        merged: list[list[int]] = []
        filled: set[int] = set()
        for column in sorted(rows_of):
            if merged and column in self._spanned and filled.isdisjoint(rows_of[column]):
                merged[-1].append(column)
                filled |= rows_of[column]
            else:
                merged.append([column])
                filled = set(rows_of[column])
        return merged


def _join_signs(row: dict[int, str]) -> dict[int, str]:
    """Return the row with currency signs, brackets and percent signs joined to their number.

    Filings put these into separate narrow columns.
    """
    if not any(text in _BEFORE_NUMBER or text in _AFTER_NUMBER for text in row.values()):
        return row
    joined: dict[int, str] = {}
    sign = ""
    last: int | None = None
    for column in sorted(row):
        text = sign + row[column]
        sign = ""
        if text in _BEFORE_NUMBER:
            sign = text
        elif text in _AFTER_NUMBER and last is not None:
            joined[last] += text
        else:
            joined[column] = text
            last = column
    if sign:
        joined[max(row)] = sign
    return joined


_DROPPED = frozenset(
    "head script style noscript template svg iframe object video audio canvas select datalist "
    "dialog nav aside footer annotation annotation-xml".split()
)
_NOTE_CLASSES = frozenset(
    "admonition callout caution endnote footnote footnote-list hint important note tip topic "
    "warning".split()
)
"""Classes of an `aside` that belongs to the text, unlike one with links or advertisements."""
_DROPPED_ROLES = frozenset(("navigation", "complementary", "contentinfo", "search", "dialog"))
_PARAGRAPHS = frozenset(
    "p ul ol dl table blockquote section article main figure hr form fieldset details menu".split()
)
_LINES = frozenset(
    "div li dt dd tr td th caption thead tbody tfoot header footer aside address figcaption "
    "summary legend option center body hgroup search".split()
)
_HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
_LAYOUT = _HEADINGS | {"table", "pre"}
_NUMERALS: dict[str, Numeral] = {
    "a": "lowerLetter", "A": "upperLetter", "i": "lowerRoman", "I": "upperRoman"
}  # fmt: skip
_WHOLE_NUMBER = re.compile(r"-?[0-9]{1,9}")
_MAX_TITLE_CHARS = 300
_BREAK = "\x00"
"""Placeholder for <br>: HTML has no NUL, and its other line ends are spaces."""
_BLANK_LINES = re.compile(r"\n{3,}")
_INVISIBLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]+)", re.IGNORECASE)
_SELF_CLOSED = re.compile(r"<([A-Za-z][\w:.-]*)((?:\s[^<>]*)?)/>")
_VOID = frozenset("area base br col embed hr img input link meta param source track wbr".split())
_MAX_INDENTS = 10
_MAX_DEPTH = 500
_CLOSED_BY_OTHERS = frozenset(
    "html head body p li dd dt option optgroup tr td th thead tbody tfoot colgroup rt rp".split()
)
_FLATTENED = f"elements nested deeper than {_MAX_DEPTH} levels were flattened"
_NESTING = re.compile(
    rf"<(/?)(?!(?:{'|'.join(sorted(_VOID | _CLOSED_BY_OTHERS))})[\s/>])[a-z][^<>]*>", re.IGNORECASE
)
"""Tags of elements that are not closed implicitly."""
_AUTHOR_NAMES = ("author", "article:author", "dc.creator", "dcterms.creator", "citation_author")
_DATE_NAMES = (
    "date",
    "article:published_time",
    "datepublished",
    "pubdate",
    "dc.date",
    "dcterms.date",
    "dcterms.created",
    "citation_publication_date",
)


def parse_html(source: Source) -> Parsed:
    """Return the readable text of a page.

    Raises:
        ParseError: "binary" if the bytes are not text, "no_text" if the page has none.
    """
    tree, warnings = read_tree(source)
    writer = TextWriter()
    if tree.root is not None:
        _Walk(tree.root, writer).run()
    if not writer.text:
        raise source.error(
            "no_text", "the page shows no text without its scripts; save it from a browser"
        )
    return Parsed.of(
        writer,
        media_type="text/html",
        title=_read_title(tree),
        metadata=_read_metadata(tree),
        warnings=warnings,
    )


def read_tree(source: Source) -> tuple[LexborHTMLParser, tuple[str, ...]]:
    """Return the tree of a page, with warnings about its text.

    Raises:
        ParseError: "binary" if the bytes are not text, "no_text" if they are white space.
    """
    match = _CHARSET.search(source.data[:4096])
    decoded = decode_text(source, declared=match.group(1).decode("ascii") if match else None)
    markup = decoded.text
    if markup.lstrip().startswith("<?xml"):
        markup = _SELF_CLOSED.sub(_close, markup)
    markup, is_flattened = _flatten(markup)
    warnings = (*decoded.warnings, *((_FLATTENED,) if is_flattened else ()))
    return LexborHTMLParser(markup), warnings


def _flatten(markup: str) -> tuple[str, bool]:
    """Replace each tag that is nested too deep by a line break; also return whether any was."""
    depth = deepest = 0

    def keep(match: re.Match[str]) -> str:
        nonlocal depth, deepest
        if not match[1]:
            depth += 1
            deepest = max(depth, deepest)
        is_kept = depth <= _MAX_DEPTH
        if match[1]:
            depth = max(0, depth - 1)
        return match[0] if is_kept else "<br>"

    flat = _NESTING.sub(keep, markup)
    return flat, deepest > _MAX_DEPTH


def _close(match: re.Match[str]) -> str:
    """Return a self-closed element of XML in the syntax of HTML."""
    name, attributes = match.groups()
    return match.group() if name.lower() in _VOID else f"<{name}{attributes}></{name}>"


def _read_title(tree: LexborHTMLParser) -> str:
    node = tree.css_first("head > title") or tree.css_first("body > title")
    title = _collapse(node.text()) if node is not None else ""
    return "" if is_file_name(title) else title


def _read_metadata(tree: LexborHTMLParser) -> dict[str, Scalar]:
    found: dict[str, str] = {}
    for node in tree.css("meta"):
        attributes = node.attributes
        name = attributes.get("name") or attributes.get("property") or attributes.get("itemprop")
        content = _collapse(attributes.get("content") or "")
        if name and content:
            found.setdefault(name.lower(), content)
    root = tree.css_first("html[lang]")
    language = (root.attributes.get("lang") or "") if root is not None else ""
    return known_fields(
        author=next((found[name] for name in _AUTHOR_NAMES if name in found), ""),
        language=read_language(language) or "",
        date=first_date(found[name] for name in _DATE_NAMES if name in found),
    )


def _collapse(text: str) -> str:
    """Return the text without soft hyphens, with white space collapsed."""
    return " ".join(text.replace("\xad", "").split())


def _is_hidden(node: LexborNode) -> bool:
    tag = node.tag
    if tag in _DROPPED:
        return not _is_note(node)
    if tag == "a" and _is_permalink(node):
        return True
    if tag in {"html", "body"}:  # hidden until a script shows them
        return False
    attributes = node.attributes
    return bool(attributes) and (
        "hidden" in attributes
        or attributes.get("aria-hidden") == "true"
        or attributes.get("role") in _DROPPED_ROLES
        or _INVISIBLE.search(attributes.get("style") or "") is not None
    )


def _is_note(node: LexborNode) -> bool:
    """Return whether an `aside` or `footer` belongs to the text: a note, or a source of a quote."""
    attributes = node.attributes
    if node.tag == "footer":
        return node.parent is not None and node.parent.tag == "blockquote"
    if node.tag != "aside":
        return False
    role, classes = attributes.get("role") or "", attributes.get("class") or ""
    return role.startswith("doc-") or not _NOTE_CLASSES.isdisjoint(classes.lower().split())


def _is_permalink(node: LexborNode) -> bool:
    """Return whether a link to a place of the page shows only a sign, such as "¶" or "#"."""
    if not (node.attributes.get("href") or "").startswith("#"):
        return False
    text = node.text() or ""
    return not any(map(str.isalnum, text)) and node.css_first("img") is None


def _divides(node: LexborNode) -> bool:
    """Return whether a node is the denominator of a fraction."""
    if node.parent is None or node.parent.tag != "mfrac":
        return False
    before = node.prev
    while before is not None and before.tag == "-text":
        before = before.prev
    return before is not None


def _shown(node: LexborNode) -> str:
    """Return the text of a text node; digits of a `sup` element are superscripts."""
    text, parent = node.text_content or "", node.parent
    while parent is not None and parent.tag in {"a", "b", "i", "em", "strong", "span"}:
        parent = parent.parent
    return superscript(text) if parent is not None and parent.tag == "sup" else text


def _is_header(node: LexborNode, tag: str) -> bool:
    return tag == "header" or node.attributes.get("role") == "banner"


def _visible(root: LexborNode) -> Iterator[LexborNode]:
    """Yield the visible descendants of a node in order, without recursion."""
    node = root.child
    while node is not None:
        descend = None
        if not _is_hidden(node):
            yield node
            descend = node.child
        node = descend or _after(node, root)


def _after(node: LexborNode, root: LexborNode) -> LexborNode | None:
    """Return the next node of the walk after a node and its descendants."""
    while node.mem_id != root.mem_id:
        if node.next is not None:
            return node.next
        if node.parent is None:
            return None
        node = node.parent
    return None


def _inline_text(root: LexborNode) -> str:
    """Return the visible text of a node on one line."""
    words = []
    for node in _visible(root):
        tag = node.tag
        if tag == "-text":
            words.append(_shown(node))
        elif _divides(node):
            words.append("/")
        elif tag == "br" or tag in _LINES or tag in _PARAGRAPHS:
            words.append(" ")
    return _collapse("".join(words))


def _holds_layout(root: LexborNode) -> bool:
    """Return whether a node contains headings, code or tables."""
    return any(node.tag in _LAYOUT for node in _visible(root))


def _read_table(table: LexborNode) -> TableGrid | None:
    """Return the rows of a table, None if it is used for layout."""
    if _holds_layout(table):
        return None
    grid = TableGrid()
    cells: list[TableCell] | None = None
    for node in _visible(table):
        tag = node.tag
        if tag == "tr":
            if cells is not None:
                grid.add_row(cells)
            cells = []
        elif tag in {"td", "th"} and cells is not None:
            cells.append(TableCell.of(_inline_text(node), node.attributes))
    if cells is not None:
        grid.add_row(cells)
    return grid


@dataclass(slots=True)
class _List:
    """Numbers of an ordered list."""

    number: int
    """Number of the next item."""
    step: int
    kind: Numeral

    @classmethod
    def of(cls, node: LexborNode) -> Self:
        """Return the numbers of an `ol` element."""
        attributes = node.attributes
        is_reversed = "reversed" in attributes
        first = sum(child.tag == "li" for child in node.iter()) if is_reversed else 1
        start = _whole_number(attributes.get("start"))
        return cls(
            number=first if start is None else start,
            step=-1 if is_reversed else 1,
            kind=_NUMERALS.get(attributes.get("type") or "", "decimal"),
        )

    def label(self, item: LexborNode) -> str:
        """Return the label of the next item."""
        own = _whole_number(item.attributes.get("value"))
        number = self.number if own is None else own
        self.number = number + self.step
        return write_number(number, self.kind)


def _whole_number(text: str | None) -> int | None:
    return int(text) if text and _WHOLE_NUMBER.fullmatch(text) else None


class _Walk:
    """Walk over a page that writes its text."""

    def __init__(self, root: LexborNode, writer: TextWriter) -> None:
        self._root = root
        self._writer = writer
        self._inline: list[str] = []
        self._marker = ""
        self._lists: list[_List | None] = []
        """Each open list, None for a list without numbers."""
        self._has_main = root.css_first("main, [role=main]") is not None
        self._main_depth = 0

    def run(self) -> None:
        """Walk the whole page."""
        node: LexborNode | None = self._root
        while node is not None:
            entered = self._enter(node)
            if entered and node.child is not None:
                node = node.child
                continue
            if entered:
                self._leave(node)
            node = self._climb(node)
        self._flush(0)

    def _climb(self, node: LexborNode) -> LexborNode | None:
        while node.next is None:
            parent = node.parent
            if parent is None or node.mem_id == self._root.mem_id:
                return None
            self._leave(parent)
            node = parent
        return node.next if node.mem_id != self._root.mem_id else None

    def _enter(self, node: LexborNode) -> bool:
        """Write the beginning of a node; return whether to descend into it."""
        tag = node.tag or ""
        if tag == "-text":
            self._inline.append(_shown(node))
            return False
        if tag.startswith("-") or _is_hidden(node):
            return False
        if self._has_main and not self._main_depth and _is_header(node, tag):
            return False
        if tag == "br":
            self._inline.append(_BREAK)
            return False
        if tag in _HEADINGS or tag in {"pre", "table"}:
            self._flush(2)
            if self._write_whole(node, tag):
                return False
        self._open(node, tag)
        return True

    def _open(self, node: LexborNode, tag: str) -> None:
        if _divides(node):
            self._inline.append("/")
        if tag in _PARAGRAPHS or tag in _LINES or tag in _HEADINGS:
            self._flush(self._gap(tag))
        if self._is_main(node, tag):
            self._main_depth += 1
        if tag in {"ul", "menu"}:
            self._lists.append(None)
        elif tag == "ol":
            self._lists.append(_List.of(node))
        elif tag == "li":
            self._marker = self._next_marker(node)

    def _leave(self, node: LexborNode) -> None:
        """Write the end of a node."""
        tag = node.tag or ""
        if tag in {"ul", "ol", "menu"}:
            self._lists.pop()
        if tag in _PARAGRAPHS or tag in _LINES or tag in _HEADINGS:
            self._flush(self._gap(tag))
        if self._is_main(node, tag):
            self._main_depth -= 1
        if tag == "li":
            self._marker = ""

    def _is_main(self, node: LexborNode, tag: str) -> bool:
        if not self._has_main:
            return False
        return tag in {"main", "article"} or node.attributes.get("role") == "main"

    def _gap(self, tag: str) -> int:
        return 2 if tag in _PARAGRAPHS and not self._lists else 1

    def _next_marker(self, node: LexborNode) -> str:
        if not self._lists:
            return "- "
        indent = "  " * min(len(self._lists) - 1, _MAX_INDENTS)
        numbers = self._lists[-1]
        if numbers is None:
            return f"{indent}- "
        return f"{indent}{numbers.label(node)}. "

    def _write_whole(self, node: LexborNode, tag: str) -> bool:
        """Write a heading, code or a table; return False if the node has to be walked."""
        if tag == "table":
            return self._write_table(node)
        if tag == "pre":
            self._writer.write_block(_read_code(node), kind="code")
            return True
        if _holds_layout(node):
            return False
        title = _inline_text(node).removesuffix("¶").rstrip()
        if len(title) > _MAX_TITLE_CHARS:
            return False
        self._writer.write_heading(title, level=int(tag[1]))
        return True

    def _write_table(self, node: LexborNode) -> bool:
        grid = _read_table(node)
        if grid is None:
            return False
        lines, columns = grid.lines()
        caption = node.css_first("caption")
        if caption is not None and (title := _inline_text(caption)):
            lines.insert(0, title)
        if columns > 1:
            self._writer.write_block("\n".join(lines), kind="table")
        else:
            self._writer.write_apart("\n".join(lines))
        return True

    def _flush(self, gap: int) -> None:
        """Write the collected text, with `gap` line ends before and after it."""
        self._writer.separate(gap)
        if not self._inline:
            return
        inline, self._inline = "".join(self._inline), []
        lines = [_collapse(line) for line in inline.split(_BREAK)]
        text = _BLANK_LINES.sub("\n\n", "\n".join(lines)).strip("\n")
        if text:
            self._writer.write(self._marker + text)
            self._marker = ""
            self._writer.separate(gap)


def _read_code(root: LexborNode) -> str:
    """Return preformatted text, without empty lines around it."""
    pieces = []
    for node in _visible(root):
        if node.tag == "-text":
            pieces.append(node.text_content or "")
        elif node.tag == "br":
            pieces.append("\n")
    lines = "".join(pieces).replace("\r\n", "\n").split("\n")
    while lines and not lines[0].strip():
        lines.pop(0)
    return "\n".join(lines).rstrip()
