"""A conversation as the next question needs it: its last turns, and what they quoted.

Rules:
    The model is told the last turns, as many as the options say, as far as a quarter of the tokens
    of the context reaches; the last turn always, its answer cut where it alone is longer.
    Earlier evidence takes at most a quarter of the tokens of the context; a new search gets the
    rest. Of excerpts, which are read one by one, none is made of it.
    A turn keeps citations and quotes, no texts of documents. It is written when its answer is
    whole, in one transaction: a question that is broken off leaves no trace.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from spanwise.answers.earlier import EarlierEvidence, find_earlier
from spanwise.errors import StoreError
from spanwise.types import Turn

if TYPE_CHECKING:
    from spanwise.models.ports import Tokenizer
    from spanwise.options import AnswerOptions
    from spanwise.search.scoring import Scope
    from spanwise.stores.port import Store
    from spanwise.types import Answer


_HISTORY_SHARE = 0.25
_EARLIER_SHARE = 0.25
_CUT = " ..."


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """What the next question of a conversation is asked with; empty for one that stands alone."""

    turns: tuple[Turn, ...] = ()
    """The last ones, in order."""
    earlier: EarlierEvidence = field(default_factory=EarlierEvidence)
    """What they quoted."""


def open_conversation(
    store: Store, thread_id: str, *, options: AnswerOptions, scope: Scope, tokenizer: Tokenizer
) -> Conversation:
    """Return a conversation as the next question needs it.

    Args:
        store: Where conversations and documents are.
        thread_id: Its id, of one that is there or a new one.
        options: How many turns, and how many tokens there are for all.
        scope: The documents that may be searched.
        tokenizer: Whose tokens are counted.

    Raises:
        FormatError: If a turn is missing or damaged.
        FilterError: If the filter does not fit the fields of the documents.
        DocumentNotFoundError: If the scope names a document that does not exist.
    """
    thread = store.get_thread(thread_id)
    if thread is None or not options.history:
        return Conversation()
    turns = _last_turns(
        thread.turns[-options.history :],
        budget_tokens=int(options.budget_tokens * _HISTORY_SHARE),
        tokenizer=tokenizer,
    )
    if options.excerpts:  # each of which would be a further call
        return Conversation(turns=turns)
    budget_tokens = int(options.budget_tokens * _EARLIER_SHARE)
    earlier = find_earlier(store, turns, scope=scope, budget_tokens=budget_tokens)
    return Conversation(turns=turns, earlier=earlier)


def kept(
    run: Generator[str, None, Answer], *, store: Store, thread_id: str, question: str, asked_at: str
) -> Generator[str, None, Answer]:
    """Yield the pieces of an answer; once it is whole, append it to a conversation.

    An answer that was paid is returned also where the conversation cannot be written, with a
    warning.

    Args:
        run: Yields the pieces and returns the answer.
        store: Where conversations are.
        thread_id: Of the conversation.
        question: As it was asked.
        asked_at: ISO 8601, UTC.
    """
    answer = replace((yield from run), thread=thread_id)
    turn = Turn(question=question, standalone=answer.queries[0], answer=answer, asked_at=asked_at)
    try:
        store.append_turn(thread_id, turn)
    except StoreError as error:
        warning = f"this answer is not kept in the conversation {thread_id!r}: {error}"
        return replace(answer, warnings=(*answer.warnings, warning))
    return answer


def _last_turns(
    turns: Sequence[Turn], *, budget_tokens: int, tokenizer: Tokenizer
) -> tuple[Turn, ...]:
    """Return as many of the last turns as fit, the last one always."""
    counts = tokenizer.count([f"{turn.question}\n{turn.answer.text}" for turn in turns])
    first = len(turns)
    left = budget_tokens
    while first and counts[first - 1] <= left:
        first -= 1
        left -= counts[first]
    if turns and first == len(turns):
        return (_cut(turns[-1], budget_tokens / counts[-1]),)
    return tuple(turns[first:])


def _cut(turn: Turn, share: float) -> Turn:
    """Return a turn with the beginning of its answer."""
    text = turn.answer.text
    answer = replace(turn.answer, text=text[: int(len(text) * share)] + _CUT)
    return replace(turn, answer=answer)
