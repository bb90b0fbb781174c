"""Every error that Spanwise raises, as one tree.

::

    SpanwiseError
    ├── OptionError            an option, argument or id is not usable (has `faults`)
    │   ├── FilterError        a filter names an unknown field or a wrong type
    │   ├── PackError          a pack cannot be read, or its file is not usable
    │   └── QueryError         a question is empty, too long or holds nothing to search for
    ├── DocumentError          a document cannot be taken in (has `source` and `code`)
    │   ├── ParseError         its bytes cannot be read as text
    │   ├── FetchError         it cannot be fetched or opened
    │   └── ConflictError      its id belongs to another source
    ├── NotFoundError          nothing has this id
    │   ├── DocumentNotFoundError   no document
    │   └── ThreadNotFoundError     no conversation
    ├── ModelError             a model fails (has `provider`, `model`, `status`, `retryable`)
    │   ├── ModelKeyError      there is no key for its provider, or it is refused
    │   ├── ModelAnswerError   its answer is not usable: no JSON, cut off, of wrong types
    │   └── CostLimitError     it would cost more than is allowed
    └── StoreError             the knowledge base itself
        ├── FormatError        made by another version, or not a knowledge base
        ├── EmbedderMismatchError   its vectors were made by another embedder
        ├── UntrustedAddressError   it names a server that the user has not approved (has `address`)
        ├── StoreFullError     the disk is full
        └── StoreBusyError     another process holds the write lock for too long
            └── StoreChangedError   it changed during a read without locks

A message says what happened, the value seen and what to do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

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
    "SpanwiseError",
    "StoreBusyError",
    "StoreChangedError",
    "StoreError",
    "StoreFullError",
    "ThreadNotFoundError",
    "UntrustedAddressError",
]

DocumentErrorCode = Literal[
    "empty",  # no bytes at all
    "no_text",  # readable, but without any text
    "needs_ocr",  # nothing but pictures of text, and nothing there that reads them
    "binary",  # neither text nor a known format
    "unsupported",  # a known format that no parser reads
    "encrypted",  # needs a password
    "corrupt",  # damaged beyond saving
    "too_large",  # over a size limit, before or after unpacking, or memory ran out
    "timeout",  # the parser took too long and was stopped
    "crashed",  # the parser died or ran out of memory
    "unreadable",  # the file or folder cannot be opened
    "refused",  # an address that may not be fetched
    "network",  # the server cannot be reached or answers with an error
    "conflict",  # the id belongs to another source
    "cost_limit",  # making it would cost more than is allowed
    "not_embedded",  # the embedder refuses its text, or fails
    "not_begun",  # the run ended before it: the embedder failed for others, one after the other
]


class SpanwiseError(Exception):
    """Base of every error of this package."""


class OptionError(SpanwiseError, ValueError):
    """An option, argument or id is not usable."""

    def __init__(self, message: str, *, faults: Sequence[str] = ()) -> None:
        """Create the error.

        Args:
            message: What happened, the value seen, what to do.
            faults: What is wrong one by one, where there are several; each becomes a line of the
                message.
        """
        super().__init__("\n  ".join([message, *faults]))
        self.faults = tuple(faults)


class FilterError(OptionError):
    """A filter cannot be read, names an unknown field, or compares a wrong type."""


class PackError(OptionError):
    """A pack cannot be read, or a key or value in its file is not usable."""


class QueryError(OptionError):
    """A question is empty, too long or holds nothing to search for."""


class DocumentError(SpanwiseError):
    """A document cannot be taken in.

    Attributes:
        source: Path, URL or id of the document.
        code: Kind of the cause, for programs.
    """

    def __init__(self, message: str, *, source: str, code: DocumentErrorCode) -> None:
        super().__init__(message)
        self.source = source
        self.code = code


class ParseError(DocumentError):
    """The bytes of a document cannot be read as text."""


class FetchError(DocumentError):
    """A document cannot be fetched or opened."""


class ConflictError(DocumentError):
    """A document's id belongs to a document from another source."""


class NotFoundError(SpanwiseError, KeyError):
    """Nothing in the knowledge base has this id."""

    def __str__(self) -> str:
        """Return the message as it is; `KeyError` would show its repr."""
        return str(self.args[0]) if self.args else ""


class DocumentNotFoundError(NotFoundError):
    """No document of the knowledge base has this id."""


class ThreadNotFoundError(NotFoundError):
    """No conversation of the knowledge base has this id."""


class ModelError(SpanwiseError):
    """A language model, embedder or reranker cannot be asked, or fails.

    Attributes:
        provider: Vendor or server, as in "openai:gpt-5-mini".
        model: Name of the model at its provider.
        status: HTTP status of the last answer; None where there was none.
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
    """There is no key for a provider, or the provider refuses it."""


class ModelAnswerError(ModelError):
    """The answer of a model is not usable: no JSON, cut off, of wrong types, or a refusal."""


class CostLimitError(ModelError):
    """A call would cost more than is allowed; what was made before is kept."""


class StoreError(SpanwiseError):
    """The knowledge base cannot be read or written."""


class FormatError(StoreError):
    """The files are no knowledge base, or of a version that this program cannot read."""


class EmbedderMismatchError(StoreError):
    """The vectors of the knowledge base were made by another embedder."""


class UntrustedAddressError(StoreError):
    """The knowledge base names a server that this user has not approved; nothing was sent to it.

    Attributes:
        address: Scheme, host and port of the server, as `spanwise config trust` takes them.
    """

    def __init__(self, message: str, *, address: str) -> None:
        super().__init__(message)
        self.address = address


class StoreFullError(StoreError):
    """The disk is full; nothing of the document in flight was kept."""


class StoreBusyError(StoreError):
    """Another process kept the write lock longer than the time to wait."""


class StoreChangedError(StoreBusyError):
    """The knowledge base changed while a process without write access read it; read it again."""
