"""Definitions of the settings: names, defaults, meanings and checks."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any, NamedTuple, get_args

from spanwise.errors import OptionError
from spanwise.options import (
    METHOD_PRESETS,
    ContextOptions,
    ExcerptOptions,
    FetchOptions,
    ModelOptions,
    ParseOptions,
    SearchOptions,
    SegmentOptions,
)
from spanwise.types import Durability

Value = str | int | float | tuple[str, ...]


class Key(NamedTuple):
    """Definition of one setting."""

    name: str
    """Table and name of the setting, such as "search.budget"."""
    default: Value
    """Value used if the setting is set nowhere."""
    meaning: str
    """One sentence for the settings reference."""
    check: Callable[[Any], object] = str
    """Function that raises OptionError for a value out of range."""
    needs_trust: bool = True
    """Whether the setting is ignored in a project file that the user has not approved. False only
    for settings that cannot send data, read or write a file, call a model, spend money or raise a
    limit that protects the user."""

    @property
    def variable(self) -> str:
        """Return the name of the environment variable for this setting."""
        return "SPANWISE_" + self.name.replace(".", "_").upper()


_NO_LIMIT: Mapping[str, int | float] = {
    "requests_per_minute": 0,
    "tokens_per_minute": 0,
    "max_cost": 0.0,
}
"""Values that mean "no limit", by field, because settings have no null value."""


def _limits(
    name: str,
    options: type[ParseOptions | FetchOptions | ModelOptions | ContextOptions],
    meanings: Mapping[str, str],
    *,
    needs_trust: Collection[str] | None = None,
) -> list[Key]:
    """Return the settings for fields of an options class.

    Args:
        name: Table of the settings.
        options: Options class that checks the values.
        meanings: Meaning of each field.
        needs_trust: Fields that need trust; None for all.
    """

    def check(field: str, value: Value) -> object:
        keywords: dict[str, Any] = {field: value}  # the type of the value was checked before
        return value == _NO_LIMIT.get(field) or options(**keywords)

    return [
        Key(
            name=f"{name}.{field}",
            default=_NO_LIMIT[field] if field in _NO_LIMIT else getattr(options(), field),
            meaning=meaning,
            check=partial(check, field),
            needs_trust=needs_trust is None or field in needs_trust,
        )
        for field, meaning in meanings.items()
    ]


def _named_folder(value: str) -> object:
    if not value.strip() or "\0" in value:
        raise OptionError("it is no folder name; name a folder, or remove the setting")
    return value


def _durability(value: str) -> object:
    if value not in get_args(Durability):
        raise OptionError(f"it must be one of {', '.join(get_args(Durability))}")
    return value


KEYS: tuple[Key, ...] = (
    Key(
        name="kb",
        default="spanwise.kb",
        meaning="Folder or address of the knowledge base. A relative path in a settings file "
        "starts at the folder of that file.",
        check=_named_folder,
    ),
    Key(
        name="search.budget",
        default=SearchOptions().budget_tokens,
        meaning="Token budget of `search` and `explain`: maximum tokens of all segments together.",
        check=lambda value: SearchOptions(budget_tokens=value),
        needs_trust=False,
    ),
    Key(
        name="search.preset",
        default="balanced",
        meaning="Segment length in `search`, `explain` and `excerpts`: "
        f"{', '.join(METHOD_PRESETS['exact'])} (from short to long).",
        check=SegmentOptions.preset,
        needs_trust=False,
    ),
    Key(
        name="search.tokenizer",
        default="",
        meaning="Tokenizer for token counts in `search`, `explain` and `excerpts`; empty for the "
        "tokenizer of the knowledge base.",
        needs_trust=False,
    ),
    Key(
        name="search.tuning",
        default="",
        meaning="Tuning file written by `tune`, used by `search`, `explain`, `excerpts` and `ask`, "
        "and by methods with +tuned of `eval`; empty for none. Relative paths as for `kb`.",
    ),
    Key(
        name="excerpts.excerpts",
        default=ExcerptOptions().excerpts,
        meaning="Maximum number of excerpts returned by `excerpts`.",
        check=lambda value: ExcerptOptions(excerpts=value),
        needs_trust=False,
    ),
    Key(
        name="excerpts.excerpt_tokens",
        default=ExcerptOptions().excerpt_tokens,
        meaning="Maximum tokens per excerpt.",
        check=lambda value: ExcerptOptions(excerpt_tokens=value),
        needs_trust=False,
    ),
    Key(
        name="add.include",
        default=(),
        meaning="Glob patterns of the files that `add` and `sync` read from folders; empty "
        "for all.",
        needs_trust=False,
    ),
    Key(
        name="add.exclude",
        default=(),
        meaning="Glob patterns of the files that `add` and `sync` skip.",
        needs_trust=False,
    ),
    Key(
        name="add.embedder",
        default="auto",
        meaning='Embedder of a new knowledge base; "none" for keyword search only.',
    ),
    Key(
        name="add.tokenizer",
        default="o200k_base",
        meaning="Tokenizer of a new knowledge base.",
        needs_trust=False,
    ),
    Key(
        name="add.packs",
        default=(),
        meaning="Domain packs of a new knowledge base: names or file paths; empty for the built-in "
        'packs, "none" for no packs. Relative paths as for `kb`.',
    ),
    Key(
        name="add.durability",
        default="full",
        meaning='Durability of `add` and `sync`: with "full", a document survives a power failure '
        'once it is reported; with "fast", the operating system writes it to disk within seconds.',
        check=_durability,
    ),
    Key(
        name="llm.model",
        default="",
        meaning='Default language model ("vendor:model"); empty for none.',
    ),
    Key(
        name="llm.fallback",
        default="",
        meaning="Language model to call if the first one fails; empty for none.",
    ),
    *_limits(
        "llm",
        ModelOptions,
        {
            "concurrency": "Maximum concurrent calls per provider; 0 for the default: 16, or 4 "
            "for a self-hosted server.",
            "timeout_seconds": "Timeout of one model call in seconds, including its answer.",
            "retries": "Maximum retries if a provider is busy, fails or cannot be reached.",
            "requests_per_minute": "Maximum calls per minute to one provider; 0 for no limit.",
            "tokens_per_minute": "Maximum input and output tokens per minute to one provider; 0 "
            "for no limit.",
            "max_cost": "Maximum cost of one operation in US dollars; 0.0 for no limit.",
        },
        needs_trust=("max_cost",),
    ),
    *_limits(
        "context",
        ContextOptions,
        {
            "section_guidance": "Instruction to the language model: what a section is.",
            "title_guidance": "Instruction to the language model: how to title documents.",
            "summary_guidance": "Instruction to the language model: what a document summary "
            "contains.",
            "section_summary_guidance": "Instruction to the language model: what a section summary "
            "contains.",
            "language": "Language of generated titles and summaries; empty for the language of the "
            "document.",
        },
    ),
    Key(
        name="rerank.model",
        default="",
        meaning='Default reranker ("vendor:model"); empty for none.',
    ),
    *_limits(
        "parse",
        ParseOptions,
        {
            "timeout_seconds": "Timeout for reading one file, in seconds.",
            "base_seconds": "Time limit of one page, and fixed part of the time limit of a file, "
            "in seconds.",
            "page_seconds": "Seconds added to the time limit of a file for each page.",
            "max_file_bytes": "Maximum size of a file in bytes.",
            "max_unpacked_bytes": "Maximum unpacked size of a file in a zipped format such as "
            "DOCX, in bytes.",
            "max_memory_bytes": "Maximum memory of the process that reads a file, in bytes.",
            "max_text_bytes": "Maximum text of one document in bytes of UTF-8.",
            "max_total_text_bytes": "Maximum text of all documents in one archive, mailbox or "
            "e-mail, in bytes of UTF-8.",
            "max_expansion": "Maximum ratio of unpacked size to file size; the first 20 MB are "
            "always allowed.",
            "max_pages": "Maximum pages of a file.",
            "max_members": "Maximum members of an archive, mailbox or e-mail.",
            "max_attachments": "Maximum attachments of an e-mail.",
            "max_container_bytes": "Maximum unpacked size of an archive, mailbox or e-mail, "
            "in bytes.",
            "max_nesting": "Maximum depth of containers inside containers.",
            "parser": "Document parser: spanwise, or an installed parser such as docling.",
            "ocr": "OCR engine for scanned pages: auto, rapidocr, tesseract (with languages: "
            "tesseract:deu+eng) or off.",
            "workers": "Number of processes that read and prepare documents; 0 for the number of "
            "processor cores.",
        },
    ),
    *_limits(
        "fetch",
        FetchOptions,
        {
            "timeout_seconds": "Timeout for fetching a URL in seconds, including redirects.",
            "max_bytes": "Maximum size of a download in bytes.",
            "max_redirects": "Maximum redirects to follow.",
        },
    ),
)
"""All settings, in display order."""
