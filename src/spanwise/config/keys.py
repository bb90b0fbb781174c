"""What can be set: names, defaults, meanings and ranges."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, get_args

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """Something that can be set."""

    name: str
    """Table and name, such as "search.budget"."""
    default: Value
    meaning: str
    check: Callable[[Any], object] = str
    """Raises OptionError for a value out of range."""
    needs_trust: bool = True
    """Whether a project file can set it only after the user has approved the file.

    False for what can neither send data anywhere, load or write a file, speak to a model, spend
    money nor raise a limit that protects the user.
    """

    @property
    def variable(self) -> str:
        """Return the environment variable that sets it."""
        return "SPANWISE_" + self.name.replace(".", "_").upper()


_NO_LIMIT: Mapping[str, int | float] = {
    "requests_per_minute": 0,
    "tokens_per_minute": 0,
    "max_cost": 0.0,
}
"""What stands in a file for no limit."""


def _limits(
    name: str,
    options: type[ParseOptions | FetchOptions | ModelOptions | ContextOptions],
    meanings: Mapping[str, str],
    *,
    harmless: Collection[str] = (),
) -> list[Key]:
    """Return a key for each limit; those in `harmless` need no trust."""

    def check(field: str, value: Value) -> object:
        given: dict[str, Any] = {field: value}  # its kind is that of the default: checked before
        return value == _NO_LIMIT.get(field) or options(**given)

    return [
        Key(
            name=f"{name}.{field}",
            default=_NO_LIMIT[field] if field in _NO_LIMIT else getattr(options(), field),
            meaning=meaning,
            check=partial(check, field),
            needs_trust=field not in harmless,
        )
        for field, meaning in meanings.items()
    ]


def _named_folder(value: str) -> object:
    if not value.strip() or "\0" in value:
        raise OptionError("name a folder, or leave it out")
    return value


def _durability(value: str) -> object:
    if value not in get_args(Durability):
        raise OptionError(f"it must be one of {', '.join(get_args(Durability))}")
    return value


KEYS: tuple[Key, ...] = (
    Key(
        name="kb",
        default="spanwise.kb",
        meaning="Folder of the knowledge base; in a file, from the folder of that file.",
        check=_named_folder,
    ),
    Key(
        name="search.budget",
        default=SearchOptions().budget_tokens,
        meaning="Tokens of all segments together, of `search` and `explain`.",
        check=lambda value: SearchOptions(budget_tokens=value),
        needs_trust=False,
    ),
    Key(
        name="search.preset",
        default="balanced",
        meaning=f"One of {', '.join(METHOD_PRESETS['exact'])}; of `excerpts` too.",
        check=SegmentOptions.preset,
        needs_trust=False,
    ),
    Key(
        name="search.tokenizer",
        default="",
        meaning="Whose tokens are counted, of `excerpts` too; empty for the knowledge base's.",
        needs_trust=False,
    ),
    Key(
        name="search.tuning",
        default="",
        meaning="File that `tune` wrote, of `excerpts`, `explain` and `ask` too; in a file, from "
        "the folder of that file; empty for none.",
    ),
    Key(
        name="excerpts.excerpts",
        default=ExcerptOptions().excerpts,
        meaning="How many texts `excerpts` gives, at most.",
        check=lambda value: ExcerptOptions(excerpts=value),
        needs_trust=False,
    ),
    Key(
        name="excerpts.excerpt_tokens",
        default=ExcerptOptions().excerpt_tokens,
        meaning="Tokens of each of them.",
        check=lambda value: ExcerptOptions(excerpt_tokens=value),
        needs_trust=False,
    ),
    Key(
        name="add.include",
        default=(),
        meaning="Patterns of files that `add` and `sync` take from folders; empty for all.",
        needs_trust=False,
    ),
    Key(
        name="add.exclude",
        default=(),
        meaning="Patterns of files that they leave out.",
        needs_trust=False,
    ),
    Key(
        name="add.embedder",
        default="auto",
        meaning='Embedder of a new knowledge base; "none" for words alone.',
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
        meaning="Packs of a new knowledge base: names, or files, in a file from the folder of that "
        'file; empty for those that come with Spanwise, "none" for none.',
    ),
    Key(
        name="add.durability",
        default="full",
        meaning="Whether what `add` and `sync` report survives a power failure: full or fast.",
        check=_durability,
    ),
    Key(
        name="llm.model",
        default="",
        meaning='Language model ("vendor:model") of commands that need one; empty for none.',
    ),
    Key(
        name="llm.fallback",
        default="",
        meaning="Language model that is asked where the first one fails; empty for none.",
    ),
    *_limits(
        "llm",
        ModelOptions,
        {
            "concurrency": "Calls at once to one provider; 0 for 16, or 4 to a server of yours.",
            "timeout_seconds": "Most time for one call, its answer included.",
            "retries": "Further calls where a provider is busy, fails or cannot be reached.",
            "requests_per_minute": "Most calls to one provider in a minute; 0 for no limit.",
            "tokens_per_minute": "Most tokens of input and output in a minute; 0 for no limit.",
            "max_cost": "US dollars that one operation may cost; 0.0 for no limit.",
        },
        harmless=(
            "concurrency",
            "timeout_seconds",
            "retries",
            "requests_per_minute",
            "tokens_per_minute",
        ),
    ),
    *_limits(
        "context",
        ContextOptions,
        {
            "section_guidance": "What a section is to you, in words for the model.",
            "title_guidance": "How documents are titled, in words for the model.",
            "summary_guidance": "What the summary of a document says, in words for the model.",
            "section_summary_guidance": "What that of a section says, in words for the model.",
            "language": "In which titles and summaries are written; empty for the document's.",
        },
    ),
    Key(
        name="rerank.model",
        default="",
        meaning='Reranker ("vendor:model") of every search; empty for none.',
    ),
    *_limits(
        "parse",
        ParseOptions,
        {
            "timeout_seconds": "Most time to read one file.",
            "base_seconds": "Most time for one page, and for a file without its pages.",
            "page_seconds": "What each page adds to the time for a file.",
            "max_file_bytes": "Largest file that is read.",
            "max_unpacked_bytes": "Largest sum of what an archive format holds.",
            "max_memory_bytes": "Most memory of the process that reads a file.",
            "max_text_bytes": "Most text of a document.",
            "max_total_text_bytes": "Most text of all documents in one archive, mailbox or e-mail.",
            "max_expansion": "How many times its size a source may expand to, beyond 20 MB.",
            "max_pages": "Most pages of a file.",
            "max_members": "Most members of an archive, mailbox or e-mail.",
            "max_attachments": "Most attachments of an e-mail.",
            "max_container_bytes": "Largest sum of what they unpack to.",
            "max_nesting": "Most containers that are opened one inside another.",
            "parser": "Who reads documents: spanwise, or a registered parser such as docling.",
            "ocr": "Who reads pages that are pictures of text; off for nobody.",
        },
    ),
    *_limits(
        "fetch",
        FetchOptions,
        {
            "timeout_seconds": "Most time to fetch a URL.",
            "max_bytes": "Most that is fetched.",
            "max_redirects": "Most redirects that are followed.",
        },
    ),
)
"""All that can be set, in the order in which it is shown."""
