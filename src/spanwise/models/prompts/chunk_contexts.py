"""Prompts for the context of each chunk: 50 to 100 tokens that situate it in its document.

Rules:
    The document comes first and is the same in many requests, so that a provider may cache it. A
    long document is divided into windows of consecutive chunks.
    A request is about several chunks of one section.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
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
_CHUNKS_PER_CALL = 8
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
    requests = [
        _request(group, instructions, title, sections[group.chunks[0].section]) for group in groups
    ]
    answers = context.caller.call_all(
        requests, read=lambda at, answer: _read(answer, count=len(groups[at].chunks))
    )
    contexts: list[str | ModelError] = []
    for group, answer in zip(groups, answers, strict=True):
        contexts += [answer] * len(group.chunks) if isinstance(answer, ModelError) else answer
    return contexts


def _groups(chunks: Sequence[Chunk]) -> Iterator[_Group]:
    """Yield the chunks in groups; a group is in one window and one section."""
    windows = _windows(chunks)
    for window in windows:
        text = "".join(chunk.text for chunk in window)
        for _, group in groupby(window, key=lambda chunk: chunk.section):
            section_chunks = list(group)
            for start in range(0, len(section_chunks), _CHUNKS_PER_CALL):
                batch = section_chunks[start : start + _CHUNKS_PER_CALL]
                yield _Group(batch, text, len(windows) == 1)


def _windows(chunks: Sequence[Chunk]) -> list[list[Chunk]]:
    """Return windows of consecutive chunks, of about equal length and about `_WINDOW_CHARS`."""
    chars = sum(len(chunk.text) for chunk in chunks)
    limit = chars / max(1, -(-chars // _WINDOW_CHARS))
    windows: list[list[Chunk]] = []
    end = 0
    for chunk in chunks:
        if not windows or end >= limit * len(windows):
            windows.append([])
        windows[-1].append(chunk)
        end += len(chunk.text)
    return windows


def _request(group: _Group, instructions: str, title: str, section: Section) -> ModelRequest:
    place = " > ".join(section.path)
    head = "This is the document" if group.is_whole else "This is a part of the document"
    texts = [chunk.text for chunk in group.chunks]
    data = [title, place, group.window]
    tag = fence_tag([*texts, *data], name="chunk")
    numbered = "\n".join(
        f"Chunk {number}:\n<{tag}>\n{text}\n</{tag}>" for number, text in enumerate(texts, 1)
    )
    typical = [_Context(chunk=number, context=_TYPICAL) for number in range(1, len(texts) + 1)]
    return ModelRequest(
        task="chunk contexts",
        instructions=instructions,
        shared=f"{head}:\n{fenced(title, name='title', beside=[group.window])}\n"
        f"{fenced(group.window, name='document', beside=[title])}\n",
        prompt="The chunks stand in this section of it:\n"
        f"{fenced(place, name='section', beside=data)}\n"
        f"{numbered}\nWrite the context of each of the {len(texts)} chunks.",
        answer=_Form,
        max_output_tokens=_TOKENS_A_CONTEXT * (1 + len(texts)),
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
