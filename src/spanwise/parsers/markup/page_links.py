"""Links of a web page, and the addresses of a sitemap.

Both are read in the parsing process, because their content is untrusted. The addresses are returned
as they are written, without any check.
"""

from __future__ import annotations

import zlib
from xml.parsers import expat

from selectolax.lexbor import LexborHTMLParser

from spanwise.parsers.detect import detect_format
from spanwise.parsers.markup.html import read_tree
from spanwise.parsers.parsed import PageLinks, Sitemap, Source

_MAX_LINKS = 5_000
"""Maximum number of links that are read from one page."""
_MAX_ADDRESSES = 50_000
"""Maximum number of addresses in one sitemap, according to the sitemap protocol."""
_MAX_SITEMAP_BYTES = 52_428_800
"""Maximum size of an unpacked sitemap in bytes, according to the sitemap protocol."""
_MAX_ADDRESS_CHARS = 2_048
_GZIP = b"\x1f\x8b"
_GZIP_WINDOW = 31
_SITEMAP_TAGS = frozenset({"urlset", "sitemapindex"})


def read_page_links(source: Source) -> PageLinks:
    """Return the links of a page in the order of the page; empty if it is not HTML."""
    if detect_format(source) != "html":
        return PageLinks()
    tree, _ = read_tree(source)
    links: dict[str, None] = {}
    for node in tree.css("a[href], area[href]"):
        relations = (node.attributes.get("rel") or "").lower().split()
        address = (node.attributes.get("href") or "").strip()
        if address and "nofollow" not in relations and len(address) <= _MAX_ADDRESS_CHARS:
            links[address] = None
        if len(links) == _MAX_LINKS:
            break
    rules: set[str] = set()
    for node in tree.css("meta[name][content]"):
        if (node.attributes.get("name") or "").lower() in ("robots", "spanwise"):
            content = (node.attributes.get("content") or "").lower()
            rules |= {rule.strip() for rule in content.split(",")}
    return PageLinks(
        links=tuple(links),
        base=_address(tree, "base[href]"),
        canonical=_address(tree, 'link[rel="canonical" i][href]'),
        follows=rules.isdisjoint(("nofollow", "none")),
        is_indexed=rules.isdisjoint(("noindex", "none")),
    )


def _address(tree: LexborHTMLParser, selector: str) -> str:
    node = tree.css_first(selector)
    address = ("" if node is None else node.attributes.get("href") or "").strip()
    return address if len(address) <= _MAX_ADDRESS_CHARS else ""


def read_sitemap(source: Source) -> Sitemap:
    """Return the addresses of a sitemap or sitemap index, which may be compressed by gzip.

    A sitemap of plain text has one address on each line.

    Raises:
        ParseError: "corrupt" if it is not a sitemap, "too_large" if it is larger than its protocol
            allows.
    """
    data = _unpacked(source)
    if not data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
        lines = data.decode("utf-8", "replace").split()
        pages = [line for line in lines if line.startswith(("http://", "https://"))]
        return Sitemap(pages=tuple(pages[:_MAX_ADDRESSES]))
    reader = _SitemapReader(source)
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.text
    parser.StartDoctypeDeclHandler = reader.refuse_declaration
    try:
        parser.Parse(data, True)  # noqa: FBT003 - expat accepts no keywords
    except expat.ExpatError as exc:
        raise source.error("corrupt", f"the sitemap is not valid XML: {exc}; check it") from exc
    return reader.sitemap()


def _unpacked(source: Source) -> bytes:
    data = source.data
    if data.startswith(_GZIP):
        decoder = zlib.decompressobj(_GZIP_WINDOW)
        try:
            data = decoder.decompress(data, _MAX_SITEMAP_BYTES + 1)
        except zlib.error as exc:
            raise source.error("corrupt", f"the sitemap cannot be unpacked: {exc}") from exc
    if len(data) > _MAX_SITEMAP_BYTES:
        raise source.error(
            "too_large",
            f"the sitemap has more than {_MAX_SITEMAP_BYTES} bytes; split it by a sitemap index",
        )
    return data


class _SitemapReader:
    """Collects the addresses of a sitemap while its XML is read."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._path: list[str] = []
        self._written: list[str] = []
        self._found: dict[str, list[str]] = {"url": [], "sitemap": []}

    def start(self, name: str, _attributes: object) -> None:
        tag = name.rpartition(" ")[2]
        if not self._path and tag not in _SITEMAP_TAGS:
            raise self._source.error(
                "corrupt", f"it is not a sitemap: its first element is {tag[:50]!r}; check it"
            )
        self._path.append(tag)
        self._written.clear()

    def text(self, text: str) -> None:
        if self._path[-1] == "loc" and sum(map(len, self._written)) <= _MAX_ADDRESS_CHARS:
            self._written.append(text)

    def end(self, _name: str) -> None:
        tag = self._path.pop()
        found = self._found.get(self._path[-1]) if self._path else None
        address = "".join(self._written).strip()
        is_address = tag == "loc" and 0 < len(address) <= _MAX_ADDRESS_CHARS
        if is_address and found is not None and len(found) < _MAX_ADDRESSES:
            found.append(address)
        self._written.clear()

    def refuse_declaration(
        self, _name: str, _system: str | None, _public: str | None, has_declarations: int
    ) -> None:
        if has_declarations:
            raise self._source.error("corrupt", "the sitemap declares entities; remove them")

    def sitemap(self) -> Sitemap:
        return Sitemap(pages=tuple(self._found["url"]), sitemaps=tuple(self._found["sitemap"]))
