"""Prompts for the title of a document, and for one-sentence summaries of it and its sections."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

from spanwise.core.text.fences import fenced
from spanwise.core.text.model_lines import model_line
from spanwise.core.text.sentences import truncate
from spanwise.models.ports import ModelRequest

if TYPE_CHECKING:
    from spanwise.errors import ModelError
    from spanwise.models.prompts.prompt_context import PromptContext
    from spanwise.types import Document, Section

_TITLE_CHARS = 160
_OUTPUT_TOKENS = 300
_INSTRUCTIONS = """\
You give documents their titles in a search engine. A reader who sees the title alone must know \
which document it is among many of its kind.
Take the title that the document states itself, if it states one. Add whose it is, what kind of \
document it is and its date or period, where the document says so and its own title does not. \
Otherwise make a title of this.
At most 15 words, in one line: no quotation marks, no comment, nothing that is not in the document.
Answer in JSON: {"title": "..."}"""


class _Form(BaseModel):
    title: str


_TYPICAL = _Form(title="Annual report of the company for the year 2020")


def make_title(document: Document, *, context: PromptContext) -> str:
    """Return the title of a document.

    Args:
        document: The document, with a text that is not empty.
        context: Caller, options and language.

    Raises:
        CostLimitError: If a call could exceed the cost limit.
        ModelError: If the model fails, or gives no usable title.
    """
    text = truncate(
        document.text, max_tokens=context.options.title_tokens, count_tokens=context.count_tokens
    )
    note = "This is the beginning of the document; the rest is left out.\n"
    request = ModelRequest(
        task="title",
        instructions=context.instructions(_INSTRUCTIONS, guidance=context.options.title_guidance),
        prompt=f"{fenced(document.id, name='name', other_texts=[text])}\n"
        f"{fenced(text, name='document', other_texts=[document.id])}\n"
        f"{note if len(text) < len(document.text) else ''}What is the title of this document?",
        answer=_Form,
        max_output_tokens=_OUTPUT_TOKENS,
        typical=_TYPICAL.model_dump_json(),
    )
    return context.caller.call(request, read=_read)


def _read(answer: str) -> str:
    return model_line(_Form.model_validate_json(answer).title, max_chars=_TITLE_CHARS)


SUMMARY_CHARS = 400
"""Maximum length of a summary in characters; longer ones are cut."""
_SECTION_TOKENS = 4_000  # the beginning of a section is enough to summarise it
_SUMMARIES_OUTPUT_TOKENS = 400
_SENTENCE = """\
Write one sentence of at most 30 words that begins with "This {what} is about: ", in the language \
in which you write. Name the subject itself, with the people, companies, things and periods it is \
of; say nothing of how it is written, no comment, nothing that is not in it.
Answer in JSON: {{"summary": "..."}}"""
_DOCUMENT_INSTRUCTIONS = (
    "You write what stands before the parts of a document when they are read alone: what the "
    "document is about. With it, a reader understands a part without the rest.\n"
    + _SENTENCE.format(what="document")
)
_SECTION_INSTRUCTIONS = (
    "You write what stands before the parts of a section when they are read alone: what the "
    "section is about, within its document.\n" + _SENTENCE.format(what="section")
)


class _SummariesForm(BaseModel):
    model_config = ConfigDict(title="_Form")  # the title is part of the cache key
    summary: str


_SUMMARIES_TYPICAL = _SummariesForm(
    summary="This document is about: revenue, costs and plans of the company in the year 2020, "
    "with the risks that it sees and what its board decided."
)


def make_summary(document: Document, *, title: str, context: PromptContext) -> str:
    """Return a one-sentence summary of a document.

    Args:
        document: The document, with a text that is not empty.
        title: Title of the document.
        context: Caller, options and language.

    Raises:
        CostLimitError: If a call could exceed the cost limit.
        ModelError: If the model fails, or gives no usable sentence.
    """
    text = truncate(
        document.text, max_tokens=context.options.summary_tokens, count_tokens=context.count_tokens
    )
    share = 100 * len(text) // len(document.text)
    note = f"This is the beginning of the document, about {max(share, 1)} % of it.\n"
    request = ModelRequest(
        task="summary",
        instructions=context.instructions(
            _DOCUMENT_INSTRUCTIONS, guidance=context.options.summary_guidance
        ),
        prompt=f"{fenced(title, name='title', other_texts=[text])}\n"
        f"{fenced(text, name='document', other_texts=[title])}\n"
        f"{note if len(text) < len(document.text) else ''}What is this document about?",
        answer=_SummariesForm,
        max_output_tokens=_SUMMARIES_OUTPUT_TOKENS,
        typical=_SUMMARIES_TYPICAL.model_dump_json(),
    )
    return context.caller.call(request, read=_read_summary)


def make_section_summaries(
    document: Document, sections: Sequence[Section], *, title: str, context: PromptContext
) -> list[str | ModelError]:
    """Return a one-sentence summary of each section in order, or the error of its request.

    Args:
        document: The document.
        sections: Sections of the document.
        title: Title of the document.
        context: Caller, options and language.

    Raises:
        CostLimitError: If a call could exceed the cost limit.
        ModelKeyError: If the provider refuses the key.
    """
    instructions = context.instructions(
        _SECTION_INSTRUCTIONS, guidance=context.options.section_summary_guidance
    )
    requests = []
    for section in sections:
        section_text = document.text[section.start : section.end]
        text = truncate(section_text, max_tokens=_SECTION_TOKENS, count_tokens=context.count_tokens)
        note = "This is the beginning of the section; the rest is left out.\n"
        place = " > ".join(section.path)
        requests.append(
            ModelRequest(
                task="section summaries",
                instructions=instructions,
                prompt=f"{fenced(title, name='document_title', other_texts=[place, text])}\n"
                f"{fenced(place, name='section_title', other_texts=[title, text])}\n"
                f"{fenced(text, name='section', other_texts=[title, place])}\n"
                f"{note if len(text) < len(section_text) else ''}What is this section about?",
                answer=_SummariesForm,
                max_output_tokens=_SUMMARIES_OUTPUT_TOKENS,
                typical=_SUMMARIES_TYPICAL.model_dump_json(),
            )
        )
    return context.caller.call_all(requests, read=lambda _, answer: _read_summary(answer))


def _read_summary(answer: str) -> str:
    return model_line(_SummariesForm.model_validate_json(answer).summary, max_chars=SUMMARY_CHARS)
