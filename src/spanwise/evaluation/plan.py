"""Arguments of an evaluation, checked before the first search."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from spanwise.errors import OptionError
from spanwise.evaluation.retrievers import Method, adapt, make_retriever, read_method
from spanwise.evaluation.retrievers.factory import check_method
from spanwise.evaluation.retrievers.methods import is_method_name

if TYPE_CHECKING:
    from spanwise.evaluation.dataset import LabelledQuestion
    from spanwise.evaluation.retrieval import Retriever
    from spanwise.evaluation.retrievers import EvaluationContext


_MAX_BUDGET = 10_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRetriever:
    """A retriever to measure. It is created at its first use."""

    name: str
    make: Callable[[], Retriever]
    is_kept: bool
    """Whether the name identifies the retriever, so that its parts can be kept."""
    is_free: bool
    """Whether a further search costs nothing."""


def read_retrievers(
    retrievers: Sequence[str | Retriever | Callable[..., object]], context: EvaluationContext
) -> list[PlannedRetriever]:
    """Return the retrievers to measure, checked.

    Raises:
        OptionError: If a name is unknown, two are equal, or an object is missing or unused.
    """
    if isinstance(retrievers, str) or not retrievers:
        raise OptionError(f"retrievers are {retrievers!r}; give a list of at least one")
    found = []
    methods: list[Method] = []
    for given in retrievers:
        if isinstance(given, str) and (is_method_name(given) or ":" not in given):
            method = read_method(given)
            check_method(method, context)
            methods.append(method)
            make = partial(make_retriever, method, context)
            found.append(
                PlannedRetriever(
                    name=method.name, make=make, is_kept=True, is_free=not method.rerank
                )
            )
        else:
            retriever = adapt(given)
            make = partial(_itself, retriever)
            found.append(
                PlannedRetriever(name=retriever.name, make=make, is_kept=False, is_free=False)
            )
    for name, times in Counter(one.name for one in found).items():
        if times > 1:
            raise OptionError(
                f"{times} retrievers are called {name!r}; name each once, and give objects names "
                "of their own by `adapt(retriever, name)`"
            )
    _check_use("reranker", context.reranker, [one.rerank for one in methods], "+rerank")
    _check_use("tuning", context.tuning, [one.tuned for one in methods], "+tuned")
    return found


def _itself(retriever: Retriever) -> Retriever:
    return retriever


def _check_use(name: str, given: object, uses: Sequence[bool], addition: str) -> None:
    """Raise if an object is given that no method uses."""
    if given is not None and not any(uses):
        raise OptionError(
            f"a {name} is given, and no method uses it; name one with {addition}, such as "
            f"exact+headers{addition}"
        )


def check_numbers(questions: Sequence[object], budgets: Sequence[int], limit: int | None) -> None:
    """Raise if questions, budgets or limit are out of range."""
    if not questions:
        raise OptionError("the dataset has no questions; give at least one")
    is_fit = all(
        isinstance(one, int) and not isinstance(one, bool) and 1 <= one <= _MAX_BUDGET
        for one in budgets
    )
    if not budgets or not is_fit or len(set(budgets)) < len(budgets):
        raise OptionError(
            f"budgets are {list(budgets)!r}; give whole numbers from 1 to {_MAX_BUDGET:,}, "
            "each once"
        )
    if limit is not None and limit < 1:
        raise OptionError(f"limit is {limit!r}; it must be at least 1")


def evenly_spaced(
    questions: Sequence[LabelledQuestion], limit: int | None
) -> tuple[LabelledQuestion, ...]:
    """Return a number of questions, evenly spaced to cover all documents."""
    total = len(questions)
    if limit is None or limit >= total:
        return tuple(questions)
    return tuple(questions[number * total // limit] for number in range(limit))
