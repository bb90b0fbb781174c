"""Questions made of documents, top to bottom: pick places, ask, check, ask again for what lacks.

Rules:
    A question that is refused gives way to another place; at most three places are asked for each
    question that is wanted.
    All that the model says is kept in the knowledge base: the same command goes on where it was
    stopped, and gives the same questions.
    A question without an answer is one that a model wrote as such and that it does not answer when
    it is asked from the documents. That is no proof: an answer that search does not find stays
    hidden, which is why such questions are few, and marked.

What it would take at least to make questions: counted, and nobody is asked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

from spanwise.core.text.terms import content_words
from spanwise.errors import CostLimitError, ModelAnswerError, ModelError, ModelKeyError
from spanwise.evaluation.budget import CallCounter, Purse, call_while_reached, outputs_of, spending
from spanwise.evaluation.dataset import LabelledQuestion
from spanwise.evaluation.questions.passages import Place, pick_places
from spanwise.evaluation.questions.question_checks import (
    Checked,
    Reason,
    check_alone,
    check_question,
)
from spanwise.evaluation.questions.question_file import (
    PLACES_A_QUESTION,
    TRIED,
    MadeQuestions,
    MakingOptions,
)
from spanwise.models.caller import ModelCaller
from spanwise.models.dry_run import dry_run_caller
from spanwise.models.prompts.answers import Question, answer_task
from spanwise.models.prompts.questions import (
    QuestionPassage,
    question_request,
    read_question,
    read_unanswerable,
    unanswerable_request,
)
from spanwise.models.threads import map_bounded
from spanwise.types import Usage

if TYPE_CHECKING:
    from spanwise.knowledge_base import KnowledgeBase
    from spanwise.models.ports import LanguageModel, ModelRequest

_Read = TypeVar("_Read")


def make_questions(
    base: KnowledgeBase,
    *,
    llm: str | LanguageModel,
    options: MakingOptions | None = None,
    on_progress: Callable[[int, int, int], None] | None = None,
) -> MadeQuestions:
    """Return questions with answers and evidence, each checked against the text.

    Args:
        base: The documents.
        llm: Vendor and model, such as "openai:gpt-5-mini", or an object.
        options: How many, and which.
        on_progress: Hears how many questions there are, how many are wanted, and how many calls
            were answered for them.

    Raises:
        OptionError: If there is no document to ask about, or no such model.
        ModelKeyError: If there is no key for the model, or it is refused.
        ModelError: If the provider cannot be reached for any of the first places, or for five in a
            row.
        CostLimitError: If it would cost more than is allowed; what was answered is kept.
    """
    options = options or MakingOptions()
    run = _Run(base, llm=llm, options=options, on_progress=on_progress)
    run.fill(options.n, run.answerable, made=lambda: len(run.found))
    run.fill(options.unanswerable, run.unanswerable, made=lambda: len(run.open_ones))
    return run.result()


class _Run:
    """Questions while they are being made."""

    def __init__(
        self,
        base: KnowledgeBase,
        *,
        llm: str | LanguageModel,
        options: MakingOptions,
        on_progress: Callable[[int, int, int], None] | None,
    ) -> None:
        self.base = base
        self.options = options
        self.model = Purse(options.models, kept=outputs_of(base)).model(llm)
        self.caller = ModelCaller(
            model=self.model,
            cache=outputs_of(base),
            answer_retries=options.models.answer_retries,
            listener=CallCounter(self._hear),
        )
        self.places = pick_places(base, seed=options.seed)
        self.found: list[Checked] = []
        self.open_ones: list[tuple[str, frozenset[str], Place]] = []
        self.refused: Counter[Reason] = Counter()
        self.asked = 0
        self.usage = Usage()
        self.first_error = ""
        self._on_progress = on_progress

    def fill(
        self, wanted: int, ask: Callable[[Sequence[Place]], None], *, made: Callable[[], int]
    ) -> None:
        """Ask about places until there are as many questions as wanted, or places run out."""
        left = PLACES_A_QUESTION * wanted
        while made() < wanted and left:
            places = list(islice(self.places, min(wanted - made(), left)))
            if not places:
                return
            left -= len(places)
            self.asked += len(places)
            ask(places)

    def _hear(self, calls: int) -> None:
        if self._on_progress is not None:
            wanted = self.options.n + self.options.unanswerable
            self._on_progress(len(self.found) + len(self.open_ones), wanted, calls)

    def answerable(self, places: Sequence[Place]) -> None:
        """Make questions that the documents answer."""
        for place, given in self._given(places, question_request, read_question):
            if given is None:
                self.refused["nothing to ask"] += 1
                continue
            checked = check_question(given, place, earlier=self.found)
            if isinstance(checked, Checked):
                self.found.append(checked)
            else:
                self.refused[checked] += 1

    def unanswerable(self, places: Sequence[Place]) -> None:
        """Make questions that the documents do not answer, and ask each of them."""
        tried: list[tuple[str, frozenset[str], Place]] = []
        for place, question in self._given(places, unanswerable_request, read_unanswerable):
            earlier = [one.terms for one in self.found]
            earlier += [terms for _, terms, _ in (*self.open_ones, *tried)]
            terms = check_alone(question, place, earlier=earlier)
            if isinstance(terms, frozenset):
                tried.append((question, terms, place))
            else:
                self.refused[terms] += 1
        asked = map_bounded(self._has_no_answer, tried, limit=self.model.concurrency)
        for one, (outcome, usage) in zip(tried, asked, strict=True):
            self.usage += usage
            if outcome is None:
                self.open_ones.append(one)
            else:
                self.refused[outcome] += 1

    def _given(
        self,
        places: Sequence[Place],
        request: Callable[[QuestionPassage], ModelRequest],
        read: Callable[[str], _Read],
    ) -> Iterator[tuple[Place, _Read]]:
        """Yield what the model gives for each place for which it gives something usable."""
        answers = call_while_reached(
            self.caller,
            [request(place.asked) for place in places],
            read=lambda _, answer: read(answer),
        )
        self._check_reached(answers)
        for place, answer in zip(places, answers, strict=True):
            if isinstance(answer, ModelError):
                self.refused["no usable answer"] += 1
                self.first_error = self.first_error or str(answer)
            else:
                yield place, answer

    def _check_reached(self, answers: Sequence[object]) -> None:
        """Raise where all first calls failed, and not for what was answered."""
        errors = [one for one in answers if isinstance(one, ModelError)]
        unreached = [one for one in errors if not isinstance(one, ModelAnswerError)]
        if len(unreached) == len(answers) == self.asked:
            raise unreached[0]

    def _has_no_answer(self, one: tuple[str, frozenset[str], Place]) -> tuple[Reason | None, Usage]:
        """Return None for a question that is refused when it is asked, or why it is not used.

        With it stands what that took. Several threads run it: it changes no counts.
        """
        with spending() as spent:
            try:
                answer = self.base.ask(one[0], llm=self.model, write_queries=False, options=TRIED)
            except (CostLimitError, ModelKeyError):
                raise
            except ModelError as error:
                self.first_error = self.first_error or str(error)
                return "no usable answer", sum(spent.usage_by_task.values(), Usage())
        return None if answer.refused else "may be answered", answer.usage

    def result(self) -> MadeQuestions:
        """Return what was made."""
        answerable = [
            LabelledQuestion(
                id=f"made-{number:04d}",
                text=checked.question,
                answer=checked.answer,
                evidence=checked.evidence,
                metadata={"answerable": True, "made_by": self.model.name},
            )
            for number, checked in enumerate(self.found, 1)
        ]
        unanswerable = [
            LabelledQuestion(
                id=f"made-unanswerable-{number:04d}",
                text=question,
                metadata={
                    "answerable": False,
                    "made_by": self.model.name,
                    "from_document": place.document_id,
                },
            )
            for number, (question, _, place) in enumerate(self.open_ones, 1)
        ]
        return MadeQuestions(
            questions=(*answerable, *unanswerable),
            wanted=self.options.n + self.options.unanswerable,
            places=self.asked,
            refused=dict(sorted(self.refused.items())),
            usage=self.caller.usage + self.usage,
            first_error=self.first_error,
        )


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
    caller = dry_run_caller(llm, cache=outputs_of(base))
    places = pick_places(base, seed=options.seed)
    for place in islice(places, options.n):
        caller.call(question_request(place.asked), read=_unread)
    for place in islice(places, options.unanswerable):
        caller.call(unanswerable_request(place.asked), read=_unread)
        _try(base, " ".join(content_words(place.text)[:_ASKED_WORDS]), caller=caller)
    return caller.usage_by_task


def _try(base: KnowledgeBase, words: str, *, caller: ModelCaller) -> None:
    """Count a call that tries to answer: what is found for words of the place is read for it."""
    found = base.search(words, budget_tokens=TRIED.budget_tokens)
    task = answer_task(Question(text=words, options=TRIED), context=found.context, first=words)
    caller.call(task.request, read=_unread)


def _unread(_: str) -> None:
    """Take any answer: what is typical is no question about the place."""
