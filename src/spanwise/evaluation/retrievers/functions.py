"""Functions as retrievers, and retrievers by the name of a module."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from pathlib import Path

from spanwise.errors import OptionError
from spanwise.evaluation.retrieval import Retrieval
from spanwise.evaluation.retrievers.given import read_found

__all__ = ["FunctionRetriever", "load_object"]

_ARGUMENTS = ("budget_tokens", "documents")


class FunctionRetriever:
    """A function that is asked a question and returns texts or places, best first.

    It is called as `function(question)`, with `budget_tokens` and `documents` where it takes
    arguments of these names. It returns a list of texts, `(document_id, start, end)`, dicts with
    `document_id`, `start`, `end` or `text`, `Retrieved`, or documents of LangChain, LlamaIndex or
    Haystack; or a `Retrieval`, which says what it cost.
    """

    def __init__(self, function: Callable[..., object], name: str | None = None) -> None:
        """Take a function.

        Args:
            function: The function.
            name: How it is called in tables; its own name when None.

        Raises:
            OptionError: If it cannot be called with a question.
        """
        self._function = function
        self.name = name or str(getattr(function, "__name__", type(function).__name__))
        self._accepted = _accepted(function, self.name)

    def retrieve(
        self, question: str, *, budget_tokens: int, documents: Sequence[str] | None
    ) -> Retrieval:
        """Return what the function returns.

        Raises:
            OptionError: If it returns something else.
        """
        given = {"budget_tokens": budget_tokens, "documents": documents}
        found = self._function(question, **{name: given[name] for name in self._accepted})
        if isinstance(found, Retrieval):
            return found
        return Retrieval(found=read_found(found, by=self.name))


def _accepted(function: Callable[..., object], name: str) -> tuple[str, ...]:
    """Return which arguments a function takes beside the question.

    Raises:
        OptionError: If it cannot be called with a question.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some of those written in C do not tell
        return ()
    parameters = signature.parameters
    takes_all = any(one.kind is one.VAR_KEYWORD for one in parameters.values())
    first, *_ = [*parameters, ""]
    accepted = tuple(one for one in _ARGUMENTS if takes_all or (one in parameters and one != first))
    try:
        signature.bind("question", **dict.fromkeys(accepted))
    except TypeError as error:
        raise OptionError(
            f"the retriever {name}{signature} cannot be asked: {error}; it is called as "
            f"{name}(question), with budget_tokens=... and documents=... where it takes these"
        ) from error
    return accepted


def load_object(named: str) -> object:
    """Return what "module:name" names; modules of the working folder are found too.

    Raises:
        OptionError: If there is no such module or name, or importing it fails.
    """
    module_name, _, name = named.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        module = importlib.import_module(module_name)
    except Exception as error:  # other people's code may raise anything
        raise OptionError(
            f"retriever is {named!r}, and the module {module_name!r} cannot be imported from "
            f"{here} or the installed packages: {type(error).__name__}: {error}"
        ) from error
    found: object = module
    for part in name.split("."):
        if not hasattr(found, part):
            near = get_close_matches(part, dir(found), n=1)
            guess = f"; did you mean {near[0]!r}?" if near else ""
            raise OptionError(
                f"retriever is {named!r}, and {module_name!r} "
                f"({getattr(module, '__file__', None) or 'built in'}) has no {part!r}{guess}"
            )
        found = getattr(found, part)
    return found
