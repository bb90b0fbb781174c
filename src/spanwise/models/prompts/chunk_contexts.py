"""What places each chunk in its document, in 50 to 100 tokens of a language model.

Rules:
    The document stands before what is asked, the same in many calls, so that a provider that can
    keep it reads it once. One that is too long is read in windows of consecutive chunks.
    Some chunks of one section are asked for in one call.
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
_CHUNKS_A_CALL = 8
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
    """Chunks that are asked for in one call."""

    chunks: Sequence[Chunk]
    window: str
    """Text of the document around them."""
    is_whole: bool
    """Whether that is all of it."""


def make_chunk_contexts(
    chunks: Sequence[Chunk], *, sections: Sequence[Section], title: str, making: PromptContext
) -> list[str | ModelError]:
    """Return what places each chunk in its document, or why it cannot be said, in their order.

    Args:
        chunks: All chunks of the document.
        sections: Its sections.
        title: Its title.
        making: How the model is asked.

    Raises:
        CostLimitError: If it would cost more than is allowed.
        ModelKeyError: If the provider refuses the key.
    """
    groups = list(_groups(chunks))
    instructions = making.instructions(_INSTRUCTIONS)
    requests = [
        _request(group, instructions, title, sections[group.chunks[0].section]) for group in groups
    ]
    answers = making.caller.call_all(
        requests, read=lambda at, answer: _read(answer, count=len(groups[at].chunks))
    )
    found: list[str | ModelError] = []
    for group, answer in zip(groups, answers, strict=True):
        found += [answer] * len(group.chunks) if isinstance(answer, ModelError) else answer
    return found


def _groups(chunks: Sequence[Chunk]) -> Iterator[_Group]:
    """Yield the chunks in groups, each of one window and one section."""
    windows = _windows(chunks)
    for window in windows:
        text = "".join(chunk.text for chunk in window)
        for _, of_section in groupby(window, key=_section_of):
            found = list(of_section)
            for start in range(0, len(found), _CHUNKS_A_CALL):
                yield _Group(found[start : start + _CHUNKS_A_CALL], text, len(windows) == 1)


def _section_of(chunk: Chunk) -> int:
    return chunk.section


def _windows(chunks: Sequence[Chunk]) -> list[list[Chunk]]:
    """Return runs of chunks about as long as each other, none much longer than a window."""
    chars = sum(len(chunk.text) for chunk in chunks)
    limit = chars / max(1, -(-chars // _WINDOW_CHARS))
    windows: list[list[Chunk]] = []
    taken = 0
    for chunk in chunks:
        if not windows or taken >= limit * len(windows):
            windows.append([])
        windows[-1].append(chunk)
        taken += len(chunk.text)
    return windows


def _request(group: _Group, instructions: str, title: str, section: Section) -> ModelRequest:
    place = " > ".join(section.path)
    what = "This is the document" if group.is_whole else "This is a part of the document"
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
        shared=f"{what}:\n{fenced(title, name='title', beside=[group.window])}\n"
        f"{fenced(group.window, name='document', beside=[title])}\n",
        prompt="The chunks stand in this section of it:\n"
        f"{fenced(place, name='section', beside=data)}\n"
        f"{numbered}\nWrite the context of each of the {len(texts)} chunks.",
        answer=_Form,
        max_output_tokens=_TOKENS_A_CONTEXT * (1 + len(texts)),
        typical=_Form(contexts=typical).model_dump_json(),
    )


def _read(answer: str, *, count: int) -> list[str]:
    """Return the contexts of so many chunks.

    Raises:
        ValueError: If one is missing or not usable.
    """
    contexts = _Form.model_validate_json(answer).contexts
    found = {one.chunk: one.context for one in reversed(contexts)}
    missing = [number for number in range(1, count + 1) if number not in found]
    if missing:
        raise ValueError(f"the chunks {', '.join(map(str, missing))} have no context")
    return [model_line(found[number], max_chars=_CONTEXT_CHARS) for number in range(1, count + 1)]
