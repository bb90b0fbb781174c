"""What may be said beside a question: the same for `search` and `explain`."""

import inspect

from spanwise import KnowledgeBase
from spanwise.knowledge_base.asking import SearchArguments, asked


def test_search_and_explain_take_the_same_with_the_same_defaults() -> None:
    given = {
        name: parameter.default
        for name, parameter in inspect.signature(KnowledgeBase.search).parameters.items()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY
    }
    taken = {name: item.default for name, item in inspect.signature(asked).parameters.items()}
    assert given == taken
    assert set(SearchArguments.__annotations__) == set(taken)
