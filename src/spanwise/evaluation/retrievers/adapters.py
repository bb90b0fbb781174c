"""Adapters: functions and retrievers of LangChain, LlamaIndex and Haystack as `Retriever`.

Frameworks are recognised by attribute names, so none has to be installed. A text with its metadata
is `page_content` and `metadata` in LangChain, `node` in LlamaIndex, `content` and `meta` in
Haystack.
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

from spanwise.errors import OptionError
from spanwise.evaluation.retrieval import Retrieval, Retrieved, Retriever
from spanwise.types.plain import shown

_DOCUMENT_KEYS = ("document_id", "doc_id", "file_path", "source", "file_name", "source_id")
"""Metadata keys that may name the document of a text, in order of preference."""

_FORMS = (
    "texts, (document_id, start, end), dicts with document_id, start, end or text, or Retrieved"
)


def read_found(found: object, *, by: str) -> tuple[Retrieved, ...]:
    """Return the results of a retriever, best first.

    Args:
        found: Value that the retriever returned.
        by: Name of the retriever, for messages.

    Raises:
        OptionError: If the value is not a list, or an item is neither a place nor a text.
    """
    if isinstance(found, str | Mapping) or not isinstance(found, Iterable):
        raise OptionError(
            f"the retriever {by!r} returned {shown(found)}; return a list of {_FORMS}"
        )
    return tuple(read_item(item, by=by) for item in found)


def read_item(item: object, *, by: str) -> Retrieved:
    """Return one result of a retriever. Its document is "" if it is not named.

    Raises:
        OptionError: If the item is neither a place nor a text.
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
    """Return a document or node of a framework as a result."""
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
    """Return a result, or None if it is neither a place nor a text."""
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
    """Return a whole number, or None for anything else."""
    if isinstance(value, Integral) and not isinstance(value, bool):
        return int(value)
    return None


_ARGUMENTS = ("budget_tokens", "documents")


class FunctionRetriever:
    """Retriever that calls a function of the question.

    The function is called as `function(question)`, with `budget_tokens` and `documents` if it takes
    arguments of these names. It returns, best first, a list of texts, of `(document_id, start,
    end)`, of dicts with `document_id`, `start`, `end` or `text`, of `Retrieved`, or of documents of
    LangChain, LlamaIndex or Haystack; or a `Retrieval`, which also has the cost.
    """

    def __init__(self, function: Callable[..., object], name: str | None = None) -> None:
        """Set the function.

        Args:
            function: The function.
            name: Name in tables; None for the name of the function.

        Raises:
            OptionError: If it cannot be called with a question.
        """
        self._function = function
        self.name = name or str(getattr(function, "__name__", type(function).__name__))
        self._accepted = _accepted(function, self.name)

    def retrieve(
        self, question: str, *, budget_tokens: int, documents: Sequence[str] | None
    ) -> Retrieval:
        """Return the results of the function.

        Raises:
            OptionError: If it returns a value that cannot be read.
        """
        given = {"budget_tokens": budget_tokens, "documents": documents}
        found = self._function(question, **{name: given[name] for name in self._accepted})
        if isinstance(found, Retrieval):
            return found
        return Retrieval(found=read_found(found, by=self.name))


def _accepted(function: Callable[..., object], name: str) -> tuple[str, ...]:
    """Return the optional arguments that a function takes.

    Raises:
        OptionError: If it cannot be called with a question.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some of those written in C do not tell
        return ()
    parameters = signature.parameters
    takes_all = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
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
    """Return the object of "module:name"; modules of the working folder are found too.

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


_ASKED = ("query", "question", "text")
"""Inputs of a Haystack pipeline that take the question."""


def adapt(given: object, name: str | None = None) -> Retriever:
    """Return any object that retrieves as a retriever.

    A retriever of a framework returns as many texts as it is configured to; configure it for the
    greatest budget. Its search cannot be restricted to some documents: results from other documents
    are dropped afterwards.

    Args:
        given: A `Retriever`; a retriever of LangChain (`invoke`) or LlamaIndex (`retrieve`); a
            Haystack component that takes a `query`, or a pipeline; a function; or "module:name" of
            one of these.
        name: Name in tables; None for the name of the object.

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
    """Calls a framework with the question alone: it would read other arguments as its options."""

    ask: Callable[[str], object]

    def __call__(self, question: str) -> object:
        return self.ask(question)


@dataclass(frozen=True, slots=True)
class _Named:
    """Retriever under another name."""

    name: str
    retriever: Retriever

    def retrieve(
        self, question: str, *, budget_tokens: int, documents: Sequence[str] | None
    ) -> Retrieval:
        """Return the results of the retriever."""
        return self.retriever.retrieve(question, budget_tokens=budget_tokens, documents=documents)


def _is_retriever(given: object) -> bool:
    retrieve = getattr(given, "retrieve", None)
    if not isinstance(getattr(given, "name", None), str) or not callable(retrieve):
        return False
    return "budget_tokens" in inspect.signature(retrieve).parameters


def _framework_search(given: object, name: str) -> Callable[[str], object] | None:
    """Return the search function of a retriever of a framework; None for any other object.

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
    """Runs a pipeline of Haystack: the question goes to every input that takes one."""

    pipeline: _HaystackPipeline
    name: str

    def ask(self, question: str) -> object:
        """Return the documents of the last component that outputs documents.

        Raises:
            OptionError: If no input takes a question, or no documents come out.
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
