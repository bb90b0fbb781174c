"""The title of a document, by a language model that reads its beginning."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import BaseModel

from spanwise.core.fences import fenced
from spanwise.core.model_lines import model_line
from spanwise.core.openings import opening
from spanwise.ports import ModelRequest

if TYPE_CHECKING:
    from spanwise.tasks.making import Making
    from spanwise.types import Document

__all__ = ["make_title"]

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


def make_title(document: Document, *, making: Making) -> str:
    """Return the title of a document.

    Args:
        document: The document, with a text that is not empty.
        making: How the model is asked.

    Raises:
        CostLimitError: If it would cost more than is allowed.
        ModelError: If the model fails, or gives no usable title.
    """
    text = opening(
        document.text, max_tokens=making.options.title_tokens, count_tokens=making.count_tokens
    )
    note = "This is the beginning of the document; the rest is left out.\n"
    request = ModelRequest(
        task="title",
        instructions=making.instructions(_INSTRUCTIONS, guidance=making.options.title_guidance),
        prompt=f"{fenced(document.id, name='name', beside=[text])}\n"
        f"{fenced(text, name='document', beside=[document.id])}\n"
        f"{note if len(text) < len(document.text) else ''}What is the title of this document?",
        answer=_Form,
        max_output_tokens=_OUTPUT_TOKENS,
        typical=_TYPICAL.model_dump_json(),
    )
    return making.caller.call(request, read=_read)


def _read(answer: str) -> str:
    return model_line(_Form.model_validate_json(answer).title, max_chars=_TITLE_CHARS)
