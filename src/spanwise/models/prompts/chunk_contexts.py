"""Prompts for the context of each chunk: 50 to 100 tokens that situate it in its document.

Rules:
    The document comes first and is the same in many requests, so that a provider may cache it. A
    long document is divided into windows of consecutive chunks.
    A request is about several consecutive chunks, whatever their sections and number: the number
    of requests depends on the length of the document only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from math import ceil
from typing import TYPE_CHECKING, NamedTuple

from pydantic import BaseModel

from spanwise.core.text.fences import fence_tag, fenced
from spanwise.core.text.model_lines import model_line
from spanwise.errors import ModelError
from spanwise.models.ports import ModelRequest

if TYPE_CHECKING:
    from spanwise.models.prompts.prompt_context import PromptContext
    from spanwise.types import Chunk, Section


_WINDOW_CHARS = 40_000  # about 10,000 tokens
_CALL_CHARS = 3_200  # length of the chunks of one request, about eight chunks
_CONTEXT_CHARS = 900
_TOKENS_A_CONTEXT = 200
_INSTRUCTIONS = """\
You write what a search engine keeps with each chunk of a document, so that the chunk is found and \
understood although it is read alone.
For each chunk that is given, write 50 to 100 tokens in one line: what it is about, and what it \
leaves unsaid because the document says it elsewhere: whose figures these are, which period, which \
agreement, what "it", "the company" or "this method" stands for. Do not repeat the chunk, add no \
comment and nothing that is not in the document.
Answer in JSON with one entry for each chunk, by its number: \
{"contexts": [{"chunk": 1, "context": "..."}]}"""

_TYPICAL = (
    "This is from the part of the annual report of the company for the year 2020 that explains why "
    "its margins changed: the figures are in millions, compared with those of the year before, and "
    "it stands for the segment that makes machines."
)


class _Context(BaseModel):
    chunk: int
    context: str


class _Form(BaseModel):
    contexts: list[_Context]


class _Group(NamedTuple):
    """Chunks of one request."""

    chunks: Sequence[Chunk]
    window: str
    """Part of the document's text that contains the chunks."""
    is_whole: bool
    """Whether the window is the whole document."""


def make_chunk_contexts(
    chunks: Sequence[Chunk], *, sections: Sequence[Section], title: str, context: PromptContext
) -> list[str | ModelError]:
    """Return the context of each chunk in order; the result of a failed request is its error.

    Args:
        chunks: All chunks of the document.
        sections: Sections of the document.
        title: Title of the document.
        context: Caller, options and language.

    Raises:
        CostLimitError: If a call could exceed the cost limit.
        ModelKeyError: If the provider refuses the key.
    """
    groups = list(_groups(chunks))
    instructions = context.instructions(_INSTRUCTIONS)
    requests = [_request(group, instructions, title, sections) for group in groups]
    answers = context.caller.call_all(
        requests, read=lambda at, answer: _read(answer, count=len(groups[at].chunks))
    )
    contexts: list[str | ModelError] = []
    for group, answer in zip(groups, answers, strict=True):
        contexts += [answer] * len(group.chunks) if isinstance(answer, ModelError) else answer
    return contexts


def _groups(chunks: Sequence[Chunk]) -> Iterator[_Group]:
    """Yield the chunks in groups; a group is in one window."""
    chars = sum(len(chunk.text) for chunk in chunks)
    count = max(1, ceil(chars / _WINDOW_CHARS))
    windows = _split(chunks, count)
    for window in windows:
        text = "".join(chunk.text for chunk in window)
        for group in _split(window, max(1, ceil(chars / count / _CALL_CHARS))):
            yield _Group(group, text, len(windows) == 1)


def _split(chunks: Sequence[Chunk], count: int) -> list[list[Chunk]]:
    """Return at most `count` runs of consecutive chunks, of about equal length."""
    limit = sum(len(chunk.text) for chunk in chunks) / count
    runs: list[list[Chunk]] = []
    end = 0
    for chunk in chunks:
        if not runs or end >= limit * len(runs):
            runs.append([])
        runs[-1].append(chunk)
        end += len(chunk.text)
    return runs


def _request(
    group: _Group, instructions: str, title: str, sections: Sequence[Section]
) -> ModelRequest:
    head = "This is the document" if group.is_whole else "This is a part of the document"
    chunks = list(enumerate(group.chunks, start=1))
    places = {chunk.section: " > ".join(sections[chunk.section].path) for chunk in group.chunks}
    data = [title, *places.values(), group.window]
    tag = fence_tag([*(chunk.text for chunk in group.chunks), *data], name="chunk")
    parts = []
    for section, members in groupby(chunks, key=lambda numbered: numbered[1].section):
        parts.append(
            "The next chunks are in this section of it:\n"
            f"{fenced(places[section], name='section', other_texts=data)}"
        )
        parts += [f"Chunk {number}:\n<{tag}>\n{chunk.text}\n</{tag}>" for number, chunk in members]
    typical = [_Context(chunk=number, context=_TYPICAL) for number, _ in chunks]
    return ModelRequest(
        task="chunk contexts",
        instructions=instructions,
        shared=f"{head}:\n{fenced(title, name='title', other_texts=[group.window])}\n"
        f"{fenced(group.window, name='document', other_texts=[title])}\n",
        prompt="\n".join([*parts, f"Write the context of each of the {len(chunks)} chunks."]),
        answer=_Form,
        max_output_tokens=_TOKENS_A_CONTEXT * (1 + len(chunks)),
        typical=_Form(contexts=typical).model_dump_json(),
    )


def _read(answer: str, *, count: int) -> list[str]:
    """Return the contexts of `count` chunks.

    Raises:
        ValueError: If a context is missing or not usable.
    """
    contexts = _Form.model_validate_json(answer).contexts
    by_number = {item.chunk: item.context for item in reversed(contexts)}
    missing = [number for number in range(1, count + 1) if number not in by_number]
    if missing:
        raise ValueError(f"the chunks {', '.join(map(str, missing))} have no context")
    return [
        model_line(by_number[number], max_chars=_CONTEXT_CHARS) for number in range(1, count + 1)
    ]
