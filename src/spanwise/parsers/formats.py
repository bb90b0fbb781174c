"""Table of formats: the parser of each, and the formats known by extension or media type only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

FormatName = Literal[
    "text",
    "markdown",
    "html",
    "pdf",
    "docx",
    "pptx",
    "workbook",
    "epub",
    "odt",
    "odp",
    "rtf",
    "csv",
    "json",
    "restructuredtext",
    "asciidoc",
    "code",
    "email",
    "mailbox",
    "archive",
]

FORMAT_NAMES: tuple[FormatName, ...] = get_args(FormatName)

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
    "odp": "spanwise.parsers.office.odp:parse_odp",
    "rtf": "spanwise.parsers.office.rtf:parse_rtf",
    "csv": "spanwise.parsers.data.csv_table:parse_csv",
    "json": "spanwise.parsers.data.json_records:parse_json",
    "restructuredtext": "spanwise.parsers.markup.restructuredtext:parse_restructuredtext",
    "asciidoc": "spanwise.parsers.markup.asciidoc:parse_asciidoc",
    "code": "spanwise.parsers.code:parse_code",
    "email": "spanwise.parsers.mail.email_message:parse_email",
}
"""Parser function of each format, as "module:function"; imported at first use."""

UNPACKERS: Mapping[FormatName, str] = {
    "email": "spanwise.parsers.mail.email_message:unpack_email",
    "mailbox": "spanwise.parsers.mail.mailbox:unpack_mailbox",
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
`code_grammars`."""

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
"""Extensions of files whose members are read although patterns exclude the files themselves."""
