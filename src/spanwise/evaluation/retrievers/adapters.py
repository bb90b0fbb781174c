"""Retrievers of LangChain, LlamaIndex and Haystack, recognised without importing these packages."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

from spanwise.errors import OptionError
from spanwise.evaluation.retrieval import Retrieval, Retriever
from spanwise.evaluation.retrievers.functions import FunctionRetriever, load_object

__all__ = ["adapt"]

_ASKED = ("query", "question", "text")
"""Inputs of a Haystack pipeline that take the question."""


def adapt(given: object, name: str | None = None) -> Retriever:
    """Return anything that retrieves as a retriever.

    A retriever of a framework returns as many texts as it is set to: set it to enough to fill the
    greatest budget. It cannot be told to search some documents only; what it finds elsewhere is
    left out where a question is about some.

    Args:
        given: A `Retriever`; a retriever of LangChain (`invoke`) or LlamaIndex (`retrieve`); a
            Haystack component that takes a `query`, or a pipeline; a function; or "module:name",
            which names one of these.
        name: How it is called in tables; its own name when None.

    Raises:
        OptionError: If it is none of these, or cannot be imported.
    """
    if isinstance(given, str):
        return adapt(load_object(given), name or given)
    if _is_retriever(given):
        return cast("Retriever", given) if name is None else _Named(name, cast("Retriever", given))
    own_name = name or type(given).__name__
    ask = _framework_search(given, own_name)
    if ask is not None:
        return FunctionRetriever(_QuestionAlone(ask), own_name)
    if callable(given):
        return FunctionRetriever(given, name)
    raise OptionError(
        f"retriever is {given!r}; give a method by name, a function, or a retriever of LangChain, "
        "LlamaIndex or Haystack"
    )


@dataclass(frozen=True, slots=True)
class _QuestionAlone:
    """Asks a framework, which would take any further argument for an option of its own."""

    ask: Callable[[str], object]

    def __call__(self, question: str) -> object:
        return self.ask(question)


@dataclass(frozen=True, slots=True)
class _Named:
    """A retriever under another name."""

    name: str
    retriever: Retriever

    def retrieve(
        self, question: str, *, budget_tokens: int, documents: Sequence[str] | None
    ) -> Retrieval:
        """Return what it returns."""
        return self.retriever.retrieve(question, budget_tokens=budget_tokens, documents=documents)


def _is_retriever(given: object) -> bool:
    retrieve = getattr(given, "retrieve", None)
    if not isinstance(getattr(given, "name", None), str) or not callable(retrieve):
        return False
    return "budget_tokens" in inspect.signature(retrieve).parameters


def _framework_search(given: object, name: str) -> Callable[[str], object] | None:
    """Return what asks a retriever of a framework; None for what is none.

    Raises:
        OptionError: If a component of Haystack takes no question.
    """
    if isinstance(given, type):
        return None
    asked = cast("Any", given)
    modules = [one.__module__ for one in type(given).__mro__]
    if _is_of(modules, "langchain_core") and callable(getattr(given, "invoke", None)):
        return cast("Callable[[str], object]", asked.invoke)
    if _is_of(modules, "llama_index.core") and callable(getattr(given, "retrieve", None)):
        return cast("Callable[[str], object]", asked.retrieve)
    if _is_of(modules, "haystack.core.pipeline"):
        return _Pipeline(asked, name).ask
    if hasattr(given, "__haystack_input__"):
        return _component_search(asked, name)
    return None


def _is_of(modules: Sequence[str], package: str) -> bool:
    return any(module == package or module.startswith(f"{package}.") for module in modules)


def _component_search(component: Any, name: str) -> Callable[[str], object]:
    if "query" not in inspect.signature(component.run).parameters:
        raise OptionError(
            f"the Haystack component {name} takes no query; put it into a pipeline with what makes "
            "its input, such as an embedder of texts, and give the pipeline"
        )
    if hasattr(component, "warm_up"):
        component.warm_up()
    return lambda question: component.run(query=question)["documents"]


class _HaystackPipeline(Protocol):
    def inputs(self) -> Mapping[str, Mapping[str, object]]: ...

    def run(self, data: Mapping[str, object]) -> Mapping[str, Mapping[str, object]]: ...


@dataclass(frozen=True, slots=True)
class _Pipeline:
    """Asks a pipeline of Haystack: the question goes to all that waits for one."""

    pipeline: _HaystackPipeline
    name: str

    def ask(self, question: str) -> object:
        """Return the documents that come out of the last component with documents.

        Raises:
            OptionError: If nothing takes a question, or no documents come out.
        """
        data = {
            component: {one: question for one in _ASKED if one in sockets}
            for component, sockets in self.pipeline.inputs().items()
        }
        data = {component: given for component, given in data.items() if given}
        if not data:
            raise OptionError(f"no component of the pipeline {self.name} takes {', '.join(_ASKED)}")
        results = [
            out["documents"] for out in self.pipeline.run(data).values() if "documents" in out
        ]
        if not results:
            raise OptionError(f"no documents come out of the pipeline {self.name}")
        return results[-1]
