"""Formats: their parsers, and those that only an extension or a media type identifies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

FormatName = Literal[
    "text", "markdown", "html", "pdf", "docx", "pptx", "workbook", "epub", "odt", "odp", "rtf",
    "csv", "json", "restructuredtext", "asciidoc", "code", "email", "image", "mailbox",
    "archive",
]  # fmt: skip

PARSERS: Mapping[FormatName, str] = {
    "text": "spanwise.parsers.text:parse_text",
    "markdown": "spanwise.parsers.markup.markdown:parse_markdown",
    "html": "spanwise.parsers.markup.html:parse_html",
    "pdf": "spanwise.parsers.pdf.reader:parse_pdf",
    "docx": "spanwise.parsers.office.docx:parse_docx",
    "pptx": "spanwise.parsers.office.pptx:parse_pptx",
    "workbook": "spanwise.parsers.office.workbook:parse_workbook",
    "epub": "spanwise.parsers.markup.epub:parse_epub",
    "odt": "spanwise.parsers.office.odf:parse_odt",
    "odp": "spanwise.parsers.office.odf:parse_odp",
    "rtf": "spanwise.parsers.office.rtf:parse_rtf",
    "csv": "spanwise.parsers.csv_table:parse_csv",
    "json": "spanwise.parsers.json_records:parse_json",
    "restructuredtext": "spanwise.parsers.markup.lightweight_markup:parse_restructuredtext",
    "asciidoc": "spanwise.parsers.markup.lightweight_markup:parse_asciidoc",
    "code": "spanwise.parsers.code:parse_code",
    "email": "spanwise.parsers.mail:parse_email",
    "image": "spanwise.parsers.images.image_file:parse_image",
}
"""Parser function of each format, as "module:function"; imported at first use."""

UNPACKERS: Mapping[FormatName, str] = {
    "email": "spanwise.parsers.mail:unpack_email",
    "mailbox": "spanwise.parsers.mail:unpack_mailbox",
    "archive": "spanwise.parsers.archive_members:unpack_archive",
}
"""Function that unpacks each container format; an e-mail is a document as well."""

EXTENSIONS: Mapping[str, FormatName] = {
    **dict.fromkeys((".md", ".markdown", ".mdown", ".mkd", ".mdx", ".qmd", ".rmd"), "markdown"),
    **dict.fromkeys((".csv", ".tsv", ".tab"), "csv"),
    **dict.fromkeys((".json", ".jsonl", ".ndjson", ".geojson", ".ipynb"), "json"),
    **dict.fromkeys((".rst", ".rest"), "restructuredtext"),
    **dict.fromkeys((".adoc", ".asciidoc", ".asc"), "asciidoc"),
    **dict.fromkeys((".html", ".htm", ".xhtml"), "html"),
    **dict.fromkeys((".eml", ".mht", ".mhtml"), "email"),
    **dict.fromkeys((".mbox", ".mbx"), "mailbox"),
}
"""Text formats by extension that content does not distinguish from plain text; source code is in
`LANGUAGES`."""

MEDIA_TYPES: Mapping[str, FormatName] = {
    "text/markdown": "markdown",
    "text/csv": "csv",
    "text/tab-separated-values": "csv",
    "application/json": "json",
    "application/x-ndjson": "json",
    "application/jsonl": "json",
    "text/x-rst": "restructuredtext",
    "text/html": "html",
    "application/xhtml+xml": "html",
    "message/rfc822": "email",
    "application/mbox": "mailbox",
}
"""The same formats by declared media type."""

CONTAINER_EXTENSIONS = frozenset(
    ".zip .tar .tgz .tbz .tbz2 .txz .gz .bz2 .xz .eml .mbox .mbx".split()
)
"""Extensions of containers; patterns that exclude a container do not exclude its members."""

_EXTENSIONS_OF_LANGUAGES = {
    "python": "py pyi",
    "javascript": "js mjs cjs jsx",
    "typescript": "ts mts cts",
    "tsx": "tsx",
    "java": "java",
    "kotlin": "kt kts",
    "scala": "scala",
    "go": "go",
    "rust": "rs",
    "c": "c h",
    "cpp": "cc cpp cxx hh hpp",
    "csharp": "cs",
    "ruby": "rb",
    "php": "php",
    "swift": "swift",
    "lua": "lua",
    "bash": "sh bash",
}
LANGUAGES: Mapping[str, str] = {
    f".{extension}": language
    for language, extensions in _EXTENSIONS_OF_LANGUAGES.items()
    for extension in extensions.split()
}
"""Programming languages, named as in tree-sitter, by file extension."""

INTERPRETERS: Mapping[str, str] = {
    "python": "python",
    "bash": "bash",
    "sh": "bash",
    "node": "javascript",
    "ruby": "ruby",
}
"""Interpreters in the first line of a script (`#!/usr/bin/env python3`), without a version."""
