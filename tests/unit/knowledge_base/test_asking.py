"""What may be said beside a question: the same for `search` and `explain`."""

import inspect
from collections.abc import Callable

from spanwise import KnowledgeBase
from spanwise.knowledge_base.asking import SearchArguments, asked


def keywords(function: Callable[..., object]) -> dict[str, object]:
    """Return the defaults of the keyword-only parameters of a function."""
    return {
        name: parameter.default
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY
    }


def test_search_and_explain_take_the_same_with_the_same_defaults() -> None:
    taken = keywords(asked)
    assert keywords(KnowledgeBase.search) == {**taken, **keywords(KnowledgeBase.explain)}
    assert set(SearchArguments.__annotations__) == set(taken)
