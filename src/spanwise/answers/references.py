"""Citation numbers of earlier answers in a question: "What else does [2] say?".

Rules:
    A number refers to the latest turn whose answer has a citation with this number.
    In the question, the number is replaced by the title of the document and the path of the
    section. Both are
  one short line without brackets, and without quotation marks, which would require an exact phrase.
    The quote is text of a document. The models get it as data, in the fenced text of the turn.
    A number without a citation is unchanged, and a warning names it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from spanwise.core.text.model_lines import without_controls

if TYPE_CHECKING:
    from spanwise.types import AnswerCitation, Citation, Turn

_REFERENCE = re.compile(r"\[\s*(\d{1,3}\??(?:\s*[,;]\s*\d{1,3}\??)*)\s*\]")
_DIGITS = re.compile(r"\d+")
_QUOTES_OR_BRACKETS = re.compile('["“”„«»‹›「」『』\\[\\]<>]')
_PLACE_CHARS, _QUOTE_CHARS = 200, 400


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedQuestion:
    """Question without citation numbers of earlier answers."""

    text: str
    """Question in which each number is replaced by its document and section."""
    turns: tuple[Turn, ...]
    """Turns as the models read them; the quotes that the question refers to are added."""
    warnings: tuple[str, ...] = ()
    """Messages about numbers that refer to no citation."""


def resolve_references(question: str, turns: Sequence[Turn]) -> ResolvedQuestion:
    """Return a question in which citation numbers of earlier answers are resolved.

    Args:
        question: Question of the user.
        turns: Earlier turns, oldest first; without turns, nothing is resolved.
    """
    if not turns:
        return ResolvedQuestion(text=question, turns=())
    found: dict[int, tuple[int, AnswerCitation]] = {}
    warnings: dict[str, None] = {}
    shown = list(turns)

    def place_of(reference: re.Match[str]) -> str:
        places = []
        for number in map(int, _DIGITS.findall(reference[1])):
            position, cited = _find(number, turns) or (0, None)
            if cited is None or cited.citation is None:
                warnings[_warning(number, is_failed=cited is not None)] = None
                return reference[0]
            found[number] = position, cited
            places.append(_place(cited.citation))
        return " and ".join(dict.fromkeys(places))

    text = _REFERENCE.sub(place_of, question)
    for position, cited in reversed(found.values()):
        shown[position] = _with_quote(shown[position], cited)
    return ResolvedQuestion(text=text, turns=tuple(shown), warnings=tuple(warnings))


def _find(number: int, turns: Sequence[Turn]) -> tuple[int, AnswerCitation] | None:
    """Return the latest citation with a number, and the position of its turn."""
    for position in range(len(turns) - 1, -1, -1):
        for cited in turns[position].answer.citations:
            if cited.number == number:
                return position, cited
    return None


def _place(citation: Citation) -> str:
    """Return the title and section of a citation as one line."""
    parts = dict.fromkeys([citation.title or citation.document_id, *citation.section_path])
    return _line(", ".join(filter(None, parts)), _PLACE_CHARS)


def _line(text: str, chars: int) -> str:
    line = " ".join(_QUOTES_OR_BRACKETS.sub("", without_controls(text)).split())
    return line if len(line) <= chars else line[: chars - 1].rstrip() + "…"


def _with_quote(turn: Turn, cited: AnswerCitation) -> Turn:
    """Return a turn whose answer begins with the place and quote of a citation."""
    if cited.citation is None:
        return turn
    quote = _line(cited.quote, _QUOTE_CHARS)
    text = f"{cited.mark} is in {_place(cited.citation)}: {quote}\n{turn.answer.text}"
    return replace(turn, answer=replace(turn.answer, text=text))


def _warning(number: int, *, is_failed: bool) -> str:
    if is_failed:
        return f"[{number}] was not found in any document, so the question could not refer to it"
    return f"no earlier answer of the conversation has a citation [{number}]"
