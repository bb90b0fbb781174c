"""Adapters from functions and retrievers of LangChain, LlamaIndex and Haystack to `Retriever`.

Result objects are recognised by their attributes, so no framework needs to be installed:
`page_content` and `metadata` (LangChain), `node` (LlamaIndex), `content` and `meta` (Haystack).
"""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from numbers import Integral
from pathlib import Path
from typing import Any, Protocol, cast

from spanwise.errors import OptionError, shown
from spanwise.evaluation.retrieval import Retrieval, Retrieved, Retriever

_DOCUMENT_KEYS = ("document_id", "doc_id", "file_path", "source", "file_name", "source_id")
"""Metadata keys that may name the document of a text, in order of preference."""

_FORMS = (
    "texts, (document_id, start, end), dicts with document_id, start, end or text, or Retrieved"
)


def read_found(found: object, *, by: str) -> tuple[Retrieved, ...]:
    """Return the results of an external retriever as `Retrieved` objects, best first.

    Args:
        found: Return value of the retriever.
        by: Name of the retriever, for error messages.

    Raises:
        OptionError: If the value is not a list, or an item is neither a text nor a position.
    """
    if isinstance(found, str | Mapping) or not isinstance(found, Iterable):
        raise OptionError(
            f"the retriever {by!r} returned {shown(found)}; return a list of {_FORMS}"
        )
    return tuple(read_item(item, by=by) for item in found)


def read_item(item: object, *, by: str) -> Retrieved:
    """Return one result of an external retriever; the document id is "" if unknown.

    Raises:
        OptionError: If the item is neither a text nor a position.
    """
    if isinstance(item, Retrieved):
        return item
    if isinstance(item, str):
        return Retrieved(document_id="", text=item)
    read = (
        _of_mapping(item)
        if isinstance(item, Mapping)
        else _of_range(item)
        if isinstance(item, tuple | list)
        else _of_object(item)
    )
    if read is None:
        raise OptionError(f"the retriever {by!r} returned {shown(item)}; return {_FORMS}")
    return read


def _of_range(item: tuple[object, ...] | list[object]) -> Retrieved | None:
    if len(item) != 3 or not isinstance(item[0], str):
        return None
    start, end = _whole(item[1]), _whole(item[2])
    if start is None or end is None:
        return None
    return Retrieved(document_id=item[0], start=start, end=end)


def _of_mapping(item: Mapping[str, object]) -> Retrieved | None:
    text = next((item[key] for key in ("text", "content", "page_content") if key in item), None)
    return _checked(item, start=item.get("start"), end=item.get("end"), text=text)


def _of_object(item: object) -> Retrieved | None:
    """Return a result from a document or node of a framework; None for any other object."""
    node = getattr(item, "node", item)
    for text_name, metadata_name in (("page_content", "metadata"), ("content", "meta")):
        text = getattr(node, text_name, None)
        if isinstance(text, str):
            metadata = getattr(node, metadata_name, None) or {}
            start = _whole(metadata.get("start_index", metadata.get("split_idx_start")))
            end = None if start is None else start + len(text)
            return _checked(metadata, start=start, end=end, text=text)
    if not hasattr(node, "get_content"):
        return None
    named = {
        "source_id": getattr(node, "ref_doc_id", None),
        **(getattr(node, "metadata", {}) or {}),
    }
    start, end = getattr(node, "start_char_idx", None), getattr(node, "end_char_idx", None)
    return _checked(named, start=start, end=end, text=node.get_content())


def _checked(
    named: Mapping[str, object], *, start: object, end: object, text: object
) -> Retrieved | None:
    """Return a result with its document; None if there is neither a text nor a position."""
    document = next((named[key] for key in _DOCUMENT_KEYS if named.get(key)), "")
    first, last = _whole(start), _whole(end)
    if first is None or last is None:
        first = last = None
    if text is not None and not isinstance(text, str):
        return None
    if text is None and (first is None or not document):
        return None
    return Retrieved(document_id=str(document), start=first, end=last, text=text)


def _whole(value: object) -> int | None:
    """Return a value as an integer; None if it is not a whole number."""
    if isinstance(value, Integral) and not isinstance(value, bool):
        return int(value)
    return None


_ARGUMENTS = ("budget_tokens", "documents")


class FunctionRetriever:
    """Retriever that calls a function.

    The function is called with the question, and with `budget_tokens` and `documents` if it has
    parameters of these names. It returns a list of results, best first. A result is a text, a tuple
    (document_id, start, end), a dict with "document_id", "start" and "end", or "text", a
    `Retrieved`, or a document of LangChain, LlamaIndex or Haystack. The function may also return a
    `Retrieval`, which includes the usage of models.
    """

    def __init__(self, function: Callable[..., object], name: str | None = None) -> None:
        """Create the retriever.

        Args:
            function: Function to call.
            name: Name of the retriever in tables; None for the name of the function.

        Raises:
            OptionError: If the function cannot be called with one argument.
        """
        self._function = function
        self.name = name or str(getattr(function, "__name__", type(function).__name__))
        self._accepted = _accepted(function, self.name)

    def retrieve(
        self, question: str, *, budget_tokens: int, documents: Sequence[str] | None
    ) -> Retrieval:
        """Return the results of the function.

        Raises:
            OptionError: If the function returns a value of another type.
        """
        given = {"budget_tokens": budget_tokens, "documents": documents}
        found = self._function(question, **{name: given[name] for name in self._accepted})
        if isinstance(found, Retrieval):
            return found
        return Retrieval(found=read_found(found, by=self.name))


def _accepted(function: Callable[..., object], name: str) -> tuple[str, ...]:
    """Return which of `budget_tokens` and `documents` a function has as parameters.

    Raises:
        OptionError: If the function cannot be called with one argument.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some functions written in C have no signature
        return ()
    parameters = signature.parameters
    takes_all = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    first, *_ = [*parameters, ""]
    accepted = tuple(one for one in _ARGUMENTS if takes_all or (one in parameters and one != first))
    try:
        signature.bind("question", **dict.fromkeys(accepted))
    except TypeError as error:
        raise OptionError(
            f"the retriever {name}{signature} cannot be called: {error}; it is called as "
            f"{name}(question), with budget_tokens=... and documents=... if it has these parameters"
        ) from error
    return accepted


def load_object(reference: str) -> object:
    """Return the object named "module:name". Modules in the working folder can be imported too.

    Raises:
        OptionError: If the module cannot be imported, or has no such name.
    """
    module_name, _, name = reference.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        module = importlib.import_module(module_name)
    except Exception as error:  # an imported module may raise anything
        raise OptionError(
            f"retriever is {reference!r}, and the module {module_name!r} cannot be imported from "
            f"{here} or the installed packages: {type(error).__name__}: {error}"
        ) from error
    found: object = module
    for part in name.split("."):
        if not hasattr(found, part):
            near = get_close_matches(part, dir(found), n=1)
            guess = f"; did you mean {near[0]!r}?" if near else ""
            raise OptionError(
                f"retriever is {reference!r}, and {module_name!r} "
                f"({getattr(module, '__file__', None) or 'built in'}) has no {part!r}{guess}"
            )
        found = getattr(found, part)
    return found


_QUESTION_INPUTS = ("query", "question", "text")
"""Names of the inputs of a Haystack pipeline that receive the question."""


def adapt(given: object, name: str | None = None) -> Retriever:
    """Return a retriever that wraps a function or a retriever of a framework.

    A framework returns a configured number of texts; configure enough for the largest budget. Its
    search cannot be restricted to some documents: results from other documents are dropped.

    Args:
        given: A `Retriever`; a function; a retriever of LangChain (`invoke`) or LlamaIndex
            (`retrieve`); a Haystack pipeline, or a Haystack component with the input `query`; or
            "module:name" of one of these.
        name: Name of the retriever in tables; None for the name of the object.

    Raises:
        OptionError: If the object is of another type, or cannot be imported.
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
    """Function called with the question alone: a framework would take more arguments as options."""

    ask: Callable[[str], object]

    def __call__(self, question: str) -> object:
        return self.ask(question)


@dataclass(frozen=True, slots=True)
class _Named:
    """Retriever with another name."""

    name: str
    retriever: Retriever

    def retrieve(
        self, question: str, *, budget_tokens: int, documents: Sequence[str] | None
    ) -> Retrieval:
        """Return the results of the wrapped retriever."""
        return self.retriever.retrieve(question, budget_tokens=budget_tokens, documents=documents)


def _is_retriever(given: object) -> bool:
    retrieve = getattr(given, "retrieve", None)
    if not isinstance(getattr(given, "name", None), str) or not callable(retrieve):
        return False
    return "budget_tokens" in inspect.signature(retrieve).parameters


def _framework_search(given: object, name: str) -> Callable[[str], object] | None:
    """Return the search function of a framework's retriever; None for any other object.

    Raises:
        OptionError: If a Haystack component has no input for the question.
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
            f"the Haystack component {name} has no input 'query'; connect it in a pipeline to a "
            "component that accepts the question, such as a text embedder, and give the pipeline"
        )
    if hasattr(component, "warm_up"):
        component.warm_up()
    return lambda question: component.run(query=question)["documents"]


class _HaystackPipeline(Protocol):
    def inputs(self) -> Mapping[str, Mapping[str, object]]: ...

    def run(self, data: Mapping[str, object]) -> Mapping[str, Mapping[str, object]]: ...


@dataclass(frozen=True, slots=True)
class _Pipeline:
    """Haystack pipeline; the question is passed to every input in `_QUESTION_INPUTS`."""

    pipeline: _HaystackPipeline
    name: str

    def ask(self, question: str) -> object:
        """Return the documents of the last component that outputs documents.

        Raises:
            OptionError: If the pipeline has no input for the question, or outputs no documents.
        """
        data = {
            component: {one: question for one in _QUESTION_INPUTS if one in sockets}
            for component, sockets in self.pipeline.inputs().items()
        }
        data = {component: given for component, given in data.items() if given}
        if not data:
            raise OptionError(
                f"no component of the pipeline {self.name} has an input named "
                f"{', '.join(_QUESTION_INPUTS)}"
            )
        results = [
            out["documents"] for out in self.pipeline.run(data).values() if "documents" in out
        ]
        if not results:
            raise OptionError(f"the pipeline {self.name} outputs no documents")
        return results[-1]
