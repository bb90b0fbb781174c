"""Exceptions raised by Spanwise, in one tree.

::

    SpanwiseError
    ├── OptionError            an option, argument or id is invalid (has `faults`)
    │   ├── FilterError        a filter is malformed or does not fit the metadata
    │   ├── PackError          a pack cannot be read, or its file is invalid
    │   └── QueryError         a question is empty, too long or contains no words
    ├── DocumentError          a document cannot be added (has `source` and `code`)
    │   ├── ParseError         the file of a document cannot be read as text
    │   ├── FetchError         a document cannot be fetched or opened
    │   └── ConflictError      the id of a document belongs to another source
    ├── NotFoundError          nothing has this id
    │   ├── DocumentNotFoundError   no document has this id
    │   └── ThreadNotFoundError     no conversation has this id
    ├── ModelError             a model failed (has `provider`, `model`, `status`, `retryable`)
    │   ├── ModelKeyError      the API key is missing or refused
    │   ├── ModelAnswerError   the answer is unusable: no JSON, cut off, or of the wrong types
    │   └── CostLimitError     the call would exceed the cost limit
    ├── ServerError            a Spanwise server cannot be reached, or refuses (has `status`)
    └── StoreError             the knowledge base cannot be read or written
        ├── FormatError        not a knowledge base, or of an unsupported version
        ├── EmbedderMismatchError   the stored vectors come from another embedder
        ├── UntrustedAddressError   a server is named that the user has not approved (has `address`)
        ├── StoreFullError     the disk is full
        ├── StorePermissionError    the role or key for the database has no right to do this
        ├── StoreUnavailableError   the server of the knowledge base cannot be reached
        └── StoreBusyError     another process held the write lock for too long
            └── StoreChangedError   the knowledge base changed during a read without locks

Every message states what happened, the value seen and what to do.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

__all__ = [
    "ConflictError",
    "CostLimitError",
    "DocumentError",
    "DocumentErrorCode",
    "DocumentNotFoundError",
    "EmbedderMismatchError",
    "FetchError",
    "FilterError",
    "FormatError",
    "ModelAnswerError",
    "ModelError",
    "ModelKeyError",
    "NotFoundError",
    "OptionError",
    "PackError",
    "ParseError",
    "QueryError",
    "ServerError",
    "SpanwiseError",
    "StoreBusyError",
    "StoreChangedError",
    "StoreError",
    "StoreFullError",
    "StorePermissionError",
    "StoreRebuiltError",
    "StoreUnavailableError",
    "ThreadNotFoundError",
    "UntrustedAddressError",
]

DocumentErrorCode = Literal[
    "empty",  # the file has no bytes
    "no_text",  # the file is readable but contains no text
    "needs_ocr",  # all pages are images of text, and no OCR engine is available
    "binary",  # neither text nor a known format
    "unsupported",  # a known format without a parser
    "encrypted",  # the file needs a password
    "corrupt",  # the file is too damaged to be read
    "too_large",  # over a size limit, before or after unpacking, or memory ran out
    "timeout",  # the parser exceeded its time limit and was stopped
    "crashed",  # the parser crashed or ran out of memory
    "unreadable",  # the file or folder cannot be opened
    "refused",  # the address must not be fetched
    "network",  # the server cannot be reached or returned an error
    "conflict",  # the id belongs to another source
    "cost_limit",  # processing would exceed the cost limit
    "not_embedded",  # the embedder rejected the text or failed
    "not_begun",  # the run stopped earlier, after repeated failures of the embedder
]


class SpanwiseError(Exception):
    """Base class of all Spanwise errors."""


class OptionError(SpanwiseError, ValueError):
    """An option, argument or id is invalid.

    Attributes:
        faults: Individual faults, if there are several.
    """

    def __init__(self, message: str, *, faults: Sequence[str] = ()) -> None:
        """Create the error.

        Args:
            message: What happened, the value seen, and what to do.
            faults: Individual faults, if there are several. Each is appended to the message on a
                line of its own.
        """
        super().__init__("\n  ".join([message, *faults]))
        self.faults = tuple(faults)


class FilterError(OptionError):
    """A filter is malformed, names an unknown field, or compares with the wrong type."""


class PackError(OptionError):
    """A pack cannot be read, or its file has an invalid key or value."""


class QueryError(OptionError):
    """A question is empty, too long or contains no words to search for."""


class DocumentError(SpanwiseError):
    """A document cannot be added.

    Attributes:
        source: Path, URL or id of the document.
        code: Machine-readable kind of the failure.
    """

    def __init__(self, message: str, *, source: str, code: DocumentErrorCode) -> None:
        super().__init__(message)
        self.source = source
        self.code = code


class ParseError(DocumentError):
    """The file of a document cannot be read as text."""


class FetchError(DocumentError):
    """A document cannot be fetched or opened."""


class ConflictError(DocumentError):
    """The id of a document belongs to a document from another source."""


class NotFoundError(SpanwiseError, KeyError):
    """Nothing in the knowledge base has this id."""

    def __str__(self) -> str:
        """Return the message; `KeyError` would return its repr."""
        return str(self.args[0]) if self.args else ""


class DocumentNotFoundError(NotFoundError):
    """No document of the knowledge base has this id."""


class ThreadNotFoundError(NotFoundError):
    """No conversation of the knowledge base has this id."""


class ModelError(SpanwiseError):
    """A language model, embedder or reranker failed or cannot be called.

    Attributes:
        provider: Vendor or server, such as "openai" in "openai:gpt-5-mini".
        model: Name of the model at its provider.
        status: HTTP status of the last response; None without a response.
        retryable: Whether the same call may succeed later.
    """

    def __init__(
        self,
        message: str,
        *,
        provider: str,
        model: str,
        status: int | None = None,
        retryable: bool = False,
    ) -> None:
        super().__init__(message)
        self.provider = provider
        self.model = model
        self.status = status
        self.retryable = retryable


class ModelKeyError(ModelError):
    """The API key of a provider is missing or refused."""


class ModelAnswerError(ModelError):
    """A model's answer is unusable: no JSON, cut off, of the wrong types, or a refusal."""


class CostLimitError(ModelError):
    """A call would exceed the cost limit; earlier results are kept."""


class ServerError(SpanwiseError):
    """A Spanwise server cannot be reached, or refuses a request of the client.

    Attributes:
        status: HTTP status of the response; None if there was no complete response.
    """

    def __init__(self, message: str, *, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class StoreError(SpanwiseError):
    """The knowledge base cannot be read or written."""


class FormatError(StoreError):
    """A folder is not a knowledge base, is damaged, or has an unsupported version."""


class EmbedderMismatchError(StoreError):
    """The vectors of the knowledge base come from another embedder."""


class UntrustedAddressError(StoreError):
    """The knowledge base names a server that this user has not approved; nothing was sent to it.

    Attributes:
        address: Scheme, host and port of the server, in the form for `spanwise config trust`.
    """

    def __init__(self, message: str, *, address: str) -> None:
        super().__init__(message)
        self.address = address


class StoreRebuiltError(StoreError):
    """The knowledge base was rebuilt with other settings since it was opened; open it again."""


class StoreFullError(StoreError):
    """The disk is full; the document being written was not stored."""


class StorePermissionError(StoreError):
    """The role or key for the database of the knowledge base lacks the right to do this."""


class StoreUnavailableError(StoreError):
    """The server of the knowledge base cannot be reached, or has closed the connection."""


class StoreBusyError(StoreError):
    """Another process held the write lock longer than the waiting time."""


class StoreChangedError(StoreBusyError):
    """The knowledge base changed while a process without write access read it; read it again."""


_SHOWN_CHARS = 80
_WORD_START = re.compile(r"(?<!^)(?=[A-Z])")


def as_sentence(message: str) -> str:
    """Return a warning or error message as a sentence, with a capital letter and a full stop."""
    return message[:1].upper() + message[1:] + ("" if message.endswith(("?", ".")) else ".")


def error_code(kind: type[SpanwiseError]) -> str:
    """Return the stable code of an error class: "document_not_found" for DocumentNotFoundError.

    A class outside this module has the code of its base class here.
    """
    public = next(base for base in kind.__mro__ if base.__module__ == SpanwiseError.__module__)
    return _WORD_START.sub("_", public.__name__.removesuffix("Error")).lower()


def unknown_document(document_id: str) -> DocumentNotFoundError:
    """Return the error for a document that does not exist."""
    return DocumentNotFoundError(
        f"no document has the id {shown(document_id)}; list the documents to see their ids"
    )


def shown(value: object, *, form: Callable[[object], str] = repr) -> str:
    """Return a value as an error message shows it, cut in the middle to 80 characters.

    If `form` fails, for example for an integer of too many digits, the kind of the value is
    returned.

    Args:
        value: The value.
        form: Function that returns a value as text.
    """
    try:
        text = form(value)
    except Exception:  # noqa: BLE001 - a caller's object may raise anything
        return "a number" if isinstance(value, int) else f"a value of type {type(value).__name__}"
    return text if len(text) <= _SHOWN_CHARS else f"{text[:57]}...{text[-20:]}"


def shown_json(value: object) -> str:
    """Return a JSON value as an error message shows it: `null`, not `None`; texts as by `shown`."""
    return shown(value, form=repr if isinstance(value, str) else json.dumps)


_WANTED = {
    "string_type": "a text",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "list_type": "a list",
    "dict_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
}
"""Expected kind of an argument, by the error type of pydantic."""


def argument_faults(faults: Sequence[Mapping[str, Any]], arguments: object = None) -> str:
    """Return the faults of arguments that pydantic found, as one text.

    Faults of one argument, which may have several types, are one part of the text.

    Args:
        faults: Result of `ValidationError.errors`; places begin with the name of the argument.
        arguments: Arguments by name, which tell the keys of objects from the names of types in the
            places; None leaves both out.
    """
    by_name: dict[str, list[Mapping[str, Any]]] = {}
    for fault in faults:
        by_name.setdefault(_place(fault["loc"], arguments), []).append(fault)
    return "; ".join(_fault(name, found) for name, found in by_name.items())


def _place(parts: Sequence[str | int], arguments: object) -> str:
    """Return the place of a fault: the name of the argument, then keys and positions."""
    name, *inner = parts
    found = [str(name)]
    value: Any = arguments.get(name) if isinstance(arguments, Mapping) else None
    for part in inner:
        is_key = isinstance(value, Mapping) and part in value
        if not is_key and not isinstance(part, int):
            continue  # the name of a type
        value = value[part] if is_key or isinstance(value, list) else None
        found.append(str(part)[:_SHOWN_CHARS])
    return ".".join(found)


def _fault(name: str, faults: Sequence[Mapping[str, Any]]) -> str:
    first = faults[0]
    if first["type"] == "missing":
        return f"{name} is missing"
    if first["type"] == "extra_forbidden":
        return f"{name}: unknown field"
    wanted = dict.fromkeys(_WANTED.get(fault["type"], "") for fault in faults)
    if "" in wanted:
        return f"{name}: {first['msg']}"
    return f"{name} is {shown_json(first['input'])}; it must be {' or '.join(wanted)}"
