"""Under which key an output of a model is kept: a hash of all that it depends on.

One after the other, for each key: who comes with the same key waits for its turn.

Outputs of models that are kept in memory.

What is wrong with an answer, in words for the model that gave it and for people.

Call one language model for one operation: from what is kept, within limits, counted.

Rules:
    Equal requests are made once: the others wait for the first, and get what it was answered. A
    stream alone waits for nobody, and nobody for its reader.
    Only answers that can be read are kept, so that others are asked for again.
    An answer that cannot be read is asked for once more, with what is wrong with it; a refusal is
    not. Both are counted.
    No call begins that may cost more than is allowed, together with those that run.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Lock
from typing import TypeVar

from spanwise.core.text.fences import fenced
from spanwise.errors import CostLimitError, ModelAnswerError, ModelError, ModelKeyError
from spanwise.models.ledger import Ledger
from spanwise.models.ports import LanguageModel, ModelReply, ModelRequest, OutputCache
from spanwise.models.threads import map_bounded
from spanwise.types import Usage


def request_key(model: str, request: ModelRequest) -> str:
    """Return the key of the answer to a request, 64 hex digits; `task` and `typical` do not count.

    Args:
        model: Vendor and model.
        request: The request.
    """
    parts = [
        model,
        request.instructions,
        request.shared,
        request.prompt,
        request.schema,
        [hashlib.sha256(image).hexdigest() for image in request.images],
        request.max_output_tokens,
    ]
    return hashlib.sha256(json.dumps(parts, ensure_ascii=True, sort_keys=True).encode()).hexdigest()


@dataclass(slots=True)
class _Turn:
    lock: Lock = field(default_factory=Lock)
    users: int = 0


@dataclass(slots=True)
class KeyedLock:
    """Lets one thread at a time in, for each key. Safe for use by several threads."""

    _turns: dict[str, _Turn] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    @contextmanager
    def of(self, key: str) -> Iterator[None]:
        """Wait until nobody else is in with this key, and be in until the end of the block."""
        with self._lock:
            turn = self._turns.setdefault(key, _Turn())
            turn.users += 1
        try:
            with turn.lock:
                yield
        finally:
            with self._lock:
                turn.users -= 1
                if not turn.users:
                    del self._turns[key]


@dataclass(slots=True, kw_only=True)
class MemoryOutputs:
    """An `OutputCache` that lasts as long as itself."""

    beneath: OutputCache | None = None
    """Read where nothing is found here; never written."""
    _outputs: dict[str, str] = field(default_factory=dict)

    def get_output(self, key: str) -> str | None:
        """Return what was kept under a key, or None."""
        output = self._outputs.get(key)
        if output is None and self.beneath is not None:
            return self.beneath.get_output(key)
        return output

    def put_output(self, key: str, output: str, *, task: str, model: str) -> None:
        """Keep an output; the first one under a key stays."""
        del task, model  # kept for people who look into a store
        self._outputs.setdefault(key, output)


_FAULT_CHARS = 500
_FAULTS = 5  # a form with a hundred wrong items is wrong in one way


def fault_words(error: ValueError, reply: ModelReply) -> str:
    """Return what is wrong with an answer, short.

    Args:
        error: What was raised when it was read.
        reply: The answer.
    """
    cut = "it ended because it was too long; " * reply.is_cut
    return cut + " ".join(_said(error).split())[:_FAULT_CHARS]


def complaint(request: ModelRequest, fault: str) -> str:
    """Return what is said of an answer; the words of the fault may be those of a document.

    Args:
        request: What was asked.
        fault: What is wrong with the answer.
    """
    data = fenced(fault, name="fault", beside=[request.shared, request.prompt])
    return (
        "Your last answer to this could not be used, because of this fault:\n"
        f"{data}\nAnswer again, briefly, and keep exactly to the form that is asked for."
    )


def _said(error: ValueError) -> str:
    """Return what an error says; of a form, where it is wrong, without the links of pydantic."""
    from pydantic import ValidationError

    if not isinstance(error, ValidationError):
        return str(error)
    found = error.errors(include_url=False, include_context=False, include_input=False)
    faults = [
        ": ".join(filter(None, (".".join(map(str, one["loc"])), one["msg"])))
        for one in found[:_FAULTS]
    ]
    more = [f"and {len(found) - _FAULTS} more"] * (len(found) > _FAULTS)
    return "; ".join(faults + more)


_Read = TypeVar("_Read")
_CHARS_A_TOKEN = 4  # about, where a stream ended before its provider said how many there were


@dataclass(slots=True, kw_only=True)
class Caller:
    """Calls a language model. Safe for use by several threads."""

    model: LanguageModel
    cache: OutputCache = field(default_factory=MemoryOutputs)
    """Keeps what was answered."""
    answer_retries: int = 1
    """Further calls for an answer that cannot be read."""
    ledger: Ledger = field(default_factory=Ledger)
    """Ledger that counts the calls and holds the cost limit."""
    answered_by: dict[str, None] = field(init=False, default_factory=dict)
    """Models whose answers were used, in order: a fallback too; none for what was kept."""
    _turns: KeyedLock = field(init=False, default_factory=KeyedLock)

    @property
    def usage(self) -> Usage:
        """What all calls took so far."""
        return self.ledger.usage

    @property
    def usage_by_task(self) -> dict[str, Usage]:
        """What the calls of each task took so far."""
        return self.ledger.usage_by_task

    def call(self, request: ModelRequest, *, read: Callable[[str], _Read]) -> _Read:
        """Return what is read from the answer to a request.

        Args:
            request: The request.
            read: Reads and checks an answer; raises ValueError, with what is wrong in words for the
                model, if it is not usable.

        Raises:
            ModelAnswerError: If no answer could be read, or the model refuses.
            CostLimitError: If the call may cost more than is left.
            ModelError: If the model fails.
        """
        key = request_key(self.model.name, request)
        with self._turns.of(key):
            kept = self.cache.get_output(key)
            if kept is not None:
                try:
                    answer = read(kept)
                except ValueError:
                    pass  # kept by another version of this program, which read it otherwise
                else:
                    self.ledger.count(request.task, Usage(cached_calls=1))
                    return answer
            answer, reply = self._ask(request, read)
            self._keep(key, request, reply)
            return answer

    def call_all(
        self, requests: Sequence[ModelRequest], *, read: Callable[[int, str], _Read]
    ) -> list[_Read | ModelError]:
        """Return what is read from the answers to requests, several at once; an error in its place.

        Args:
            requests: The requests.
            read: As `call`, with the position of the request before the answer.

        Raises:
            CostLimitError: If one may cost more than is left.
            ModelKeyError: If the provider refuses the key: it would refuse it for all.
        """

        def one(position: int) -> _Read | ModelError:
            try:
                return self.call(requests[position], read=lambda text: read(position, text))
            except (CostLimitError, ModelKeyError):
                raise
            except ModelError as error:
                return error

        return map_bounded(one, range(len(requests)), limit=self.model.concurrency)

    def stream(self, request: ModelRequest, *, read: Callable[[str], object]) -> Generator[str]:
        """Yield the pieces of an answer as they come; one that was kept is a single piece.

        Where the reader stops early, about what had come is counted, and nothing is kept.

        Args:
            request: The request.
            read: As `call`; the whole answer is kept if it can be read.

        Raises:
            ModelAnswerError: After the last piece, if the answer cannot be read or is a refusal.
            CostLimitError: If the call may cost more than is left.
            ModelError: If the model fails, before the first piece or after some.
        """
        key = request_key(self.model.name, request)
        kept = self.cache.get_output(key)
        if kept is not None and _is_readable(read, kept):
            self.ledger.count(request.task, Usage(cached_calls=1))
            yield kept
            return
        with self.ledger.reserved(
            self.model.name, partial(self.model.estimate, request), ends=False
        ) as at_most:
            reply = yield from self._pieces(request, at_most=at_most)
        _check_given(reply)
        try:
            read(reply.text)
        except ValueError as error:
            raise self._unusable(request, fault_words(error, reply), calls=1) from error
        self._keep(key, request, reply)

    def _keep(self, key: str, request: ModelRequest, reply: ModelReply) -> None:
        self.answered_by[reply.model] = None
        self.cache.put_output(key, reply.text, task=request.task, model=reply.model)

    def _ask(self, request: ModelRequest, read: Callable[[str], _Read]) -> tuple[_Read, ModelReply]:
        asked, fault = request, ""
        for _ in range(self.answer_retries + 1):
            reply = self._generate(asked)
            _check_given(reply)
            try:
                return read(reply.text), reply
            except ValueError as error:
                fault = fault_words(error, reply)
                asked = replace(request, prompt=f"{request.prompt}\n\n{complaint(request, fault)}")
        raise self._unusable(request, fault, calls=self.answer_retries + 1)

    def _generate(self, request: ModelRequest) -> ModelReply:
        estimate = partial(self.model.estimate, request)
        with self.ledger.reserved(self.model.name, estimate) as at_most:
            started = time.perf_counter()
            reply = self.model.generate(request)
            usage = replace(reply.usage, seconds=time.perf_counter() - started)
            self.ledger.count(request.task, usage, at_most=at_most)
        return reply

    def _pieces(self, request: ModelRequest, *, at_most: float) -> Generator[str, None, ModelReply]:
        """Yield the pieces of an answer, and return the whole reply; it is counted in any case."""
        seconds, chars, usage = 0.0, 0, None
        pieces = self.model.stream(request)
        try:
            while True:
                started = time.perf_counter()
                piece = next(pieces)
                seconds += time.perf_counter() - started
                if isinstance(piece, ModelReply):
                    usage = piece.usage
                    return piece
                chars += len(piece)
                yield piece
        finally:
            if usage is None and chars:
                came = replace(request, max_output_tokens=-(-chars // _CHARS_A_TOKEN))
                usage = self.model.estimate(came)
            if usage is not None:
                usage = replace(usage, seconds=seconds)
                self.ledger.count(request.task, usage, at_most=at_most)

    def _unusable(self, request: ModelRequest, fault: str, *, calls: int) -> ModelAnswerError:
        provider, _, model = self.model.name.partition(":")
        return ModelAnswerError(
            f"{self.model.name} gave no usable answer for {request.task!r} in {calls} "
            f"{'calls' if calls > 1 else 'call'}: {fault}; try another model",
            provider=provider,
            model=model,
        )


def _is_readable(read: Callable[[str], object], text: str) -> bool:
    try:
        read(text)
    except ValueError:
        return False
    return True


def _check_given(reply: ModelReply) -> None:
    """Raise if a reply is a refusal."""
    if reply.refusal:
        provider, _, model = reply.model.partition(":")
        raise ModelAnswerError(
            f"{reply.model} refuses to answer: {reply.refusal}; try another model, or leave out "
            "this text",
            provider=provider,
            model=model,
        )
