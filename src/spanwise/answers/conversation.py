"""Context that a conversation gives to its next question, and storage of new turns.

Rules:
    The model sees the last turns, limited by `AnswerOptions.history` and a quarter of the token
    budget. The last turn is always included; its answer is truncated if it exceeds that quarter.
    Earlier evidence uses at most a quarter of the token budget; the new search uses the rest. It is
    not used with excerpts, because each source would cost another call.
    A turn stores citations and quotes, but no text of documents. It is written in one transaction
    when its answer is complete; an aborted question leaves no trace.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from spanwise.answers.earlier_evidence import EarlierEvidence, find_earlier_evidence
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
_ELLIPSIS = " ..."


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """Context of the next question of a conversation; empty for a single question."""

    turns: tuple[Turn, ...] = ()
    """Last turns, oldest first."""
    earlier: EarlierEvidence = field(default_factory=EarlierEvidence)
    """Evidence quoted in these turns."""


def open_conversation(
    store: Store, thread_id: str, *, options: AnswerOptions, scope: Scope, tokenizer: Tokenizer
) -> Conversation:
    """Return the context that a conversation gives to its next question.

    Args:
        store: Store of conversations and documents.
        thread_id: Id of an existing or new conversation.
        options: Number of turns, token budget and number of excerpts.
        scope: Documents that may be searched.
        tokenizer: Tokenizer for the length of turns.

    Raises:
        FormatError: If a turn is missing or damaged.
        FilterError: If the filter does not fit the metadata of the documents.
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
    if options.excerpts:
        return Conversation(turns=turns)
    budget_tokens = int(options.budget_tokens * _EARLIER_SHARE)
    earlier = find_earlier_evidence(store, turns, scope=scope, budget_tokens=budget_tokens)
    return Conversation(turns=turns, earlier=earlier)


def store_turn(
    run: Generator[str, None, Answer], *, store: Store, thread_id: str, question: str, asked_at: str
) -> Generator[str, None, Answer]:
    """Yield the pieces of an answer, and append the complete answer to a conversation.

    If the conversation cannot be written, the answer is still returned, with a warning.

    Args:
        run: Generator that yields the pieces and returns the answer.
        store: Store of the conversation.
        thread_id: Id of the conversation.
        question: Question of the user.
        asked_at: Time of the question, ISO 8601 in UTC.
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
    """Return the last turns that fit the budget; the last one is included in any case."""
    counts = tokenizer.count([f"{turn.question}\n{turn.answer.text}" for turn in turns])
    first = len(turns)
    remaining = budget_tokens
    while first and counts[first - 1] <= remaining:
        first -= 1
        remaining -= counts[first]
    if turns and first == len(turns):
        return (_truncate(turns[-1], budget_tokens / counts[-1]),)
    return tuple(turns[first:])


def _truncate(turn: Turn, share: float) -> Turn:
    """Return a turn with only the given share of its answer's text, in [0, 1]."""
    text = turn.answer.text
    answer = replace(turn.answer, text=text[: int(len(text) * share)] + _ELLIPSIS)
    return replace(turn, answer=answer)
