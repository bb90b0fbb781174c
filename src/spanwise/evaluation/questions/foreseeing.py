"""What it would take at least to make questions: counted, and nobody is asked."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from spanwise.calls.foreseen import foreseeing_caller
from spanwise.core.terms import content_words
from spanwise.evaluation.paying import outputs_of
from spanwise.evaluation.questions.made import TRIED, MakingOptions
from spanwise.evaluation.questions.places import pick_places
from spanwise.tasks.answers import answer_task
from spanwise.tasks.asking import Question
from spanwise.tasks.question_making import question_request, unanswerable_request

if TYPE_CHECKING:
    from spanwise.calls.caller import Caller
    from spanwise.knowledge_base import KnowledgeBase
    from spanwise.ports import LanguageModel
    from spanwise.types import Usage

__all__ = ["foresee_questions"]

_ASKED_WORDS = 15


def foresee_questions(
    base: KnowledgeBase, *, llm: LanguageModel, options: MakingOptions
) -> dict[str, Usage]:
    """Return what the fewest calls would take, by task.

    Each question that is refused takes one call more, up to `PLACES_A_QUESTION` for each that is
    wanted. What was answered before is counted as kept.

    Args:
        base: The documents.
        llm: Model that would be asked.
        options: Which questions would be made.

    Raises:
        OptionError: If there is no document to ask about.
    """
    caller = foreseeing_caller(llm, cache=outputs_of(base))
    places = pick_places(base, seed=options.seed)
    for place in islice(places, options.n):
        caller.call(question_request(place.asked), read=_unread)
    for place in islice(places, options.unanswerable):
        caller.call(unanswerable_request(place.asked), read=_unread)
        _try(base, " ".join(content_words(place.text)[:_ASKED_WORDS]), caller=caller)
    return caller.usage_by_task


def _try(base: KnowledgeBase, words: str, *, caller: Caller) -> None:
    """Count a call that tries to answer: what is found for words of the place is read for it."""
    found = base.search(words, budget_tokens=TRIED.budget_tokens)
    task = answer_task(Question(text=words, options=TRIED), context=found.context, first=words)
    caller.call(task.request, read=_unread)


def _unread(_: str) -> None:
    """Take any answer: what is typical is no question about the place."""
