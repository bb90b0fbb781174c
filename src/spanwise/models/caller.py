"""Calls of a language model: cache, retries of unusable answers, cost limit and usage.

Rules:
    Concurrent identical requests are sent once: the others wait for the first and get its answer
    from the cache (single flight). Streams are excluded, because a stream may wait for its reader
    forever.
    Only usable answers are cached, and a caller can remove an answer that fails later checks. The
    key of an answer covers the complete request, so a changed prompt or schema gets a new answer.
    An unusable answer is requested again, with a description of
    the fault. A refusal is not requested again. Both count as usage.
    A call is refused if it could exceed the cost limit together with the running calls.
    Every exception of a model is translated to a `ModelError` that names the model.
"""

from __future__ import annotations

import hashlib
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
from spanwise.models.model_checks import (
    check_model,
    check_type,
    model_version,
    translated_errors,
    unusable_answer,
)
from spanwise.models.ports import LanguageModel, ModelReply, ModelRequest
from spanwise.threads import check_cancelled, map_bounded
from spanwise.types import Usage
from spanwise.types.output_cache import CachedOutput, OutputCache, output_key

_Answer = TypeVar("_Answer")
_KEY_VERSION = 2  # increased if answers to the same request must be requested again
_FAULT_CHARS = 500
_FAULTS = 5  # number of validation errors in a description; more are usually of the same kind
_CHARS_PER_TOKEN = 4  # estimate for a stream that ended before its usage was reported


def request_key(model: str, request: ModelRequest, *, version: str = "") -> str:
    """Return the cache key of a request, 64 hexadecimal digits.

    The key covers the model and all fields of the request except `task` and `typical`.

    Args:
        model: Vendor and model.
        request: The request.
        version: Version of the model; empty if it has none.
    """
    parts = [
        _KEY_VERSION,
        model,
        request.instructions,
        request.shared,
        request.prompt,
        request.schema,
        [hashlib.sha256(image).hexdigest() for image in request.images],
        request.max_output_tokens,
    ]
    if version:
        parts.append(version)
    if request.temperature:
        parts.append({"temperature": request.temperature})
    return output_key(parts)


@dataclass(slots=True)
class _CountedLock:
    lock: Lock = field(default_factory=Lock)
    users: int = 0


@dataclass(slots=True)
class KeyedLock:
    """One lock per key, created on demand and deleted when its last user releases it."""

    _locks: dict[str, _CountedLock] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    @contextmanager
    def hold(self, key: str) -> Iterator[None]:
        """Hold the lock of a key during a `with` block."""
        with self._lock:
            counted = self._locks.setdefault(key, _CountedLock())
            counted.users += 1
        try:
            with counted.lock:
                yield
        finally:
            with self._lock:
                counted.users -= 1
                if not counted.users:
                    del self._locks[key]


@dataclass(slots=True, kw_only=True)
class MemoryOutputs:
    """Output cache in memory."""

    _outputs: dict[str, str] = field(default_factory=dict)

    def get_outputs(self, keys: Sequence[str]) -> dict[str, str]:
        """Return the cached outputs of some keys, by key."""
        found = {key: self._outputs.get(key) for key in keys}
        return {key: output for key, output in found.items() if output is not None}

    def put_outputs(self, outputs: Sequence[CachedOutput]) -> None:
        """Cache outputs, except for keys that have one."""
        for cached in outputs:
            self._outputs.setdefault(cached.key, cached.output)

    def remove_output(self, key: str) -> None:
        """Delete the output of a key, if there is one."""
        self._outputs.pop(key, None)


@dataclass(slots=True, kw_only=True)
class FreshOutputs:
    """Output cache without the outputs of earlier operations, which new outputs replace."""

    cache: OutputCache
    """Cache of all outputs."""
    _renewed: set[str] = field(default_factory=set)

    def get_outputs(self, keys: Sequence[str]) -> dict[str, str]:
        """Return the outputs of some keys that were cached by this operation, by key."""
        return self.cache.get_outputs([key for key in keys if key in self._renewed])

    def put_outputs(self, outputs: Sequence[CachedOutput]) -> None:
        """Cache outputs and replace earlier ones, but not those that this operation cached."""
        for cached in outputs:
            if cached.key not in self._renewed:
                self.cache.remove_output(cached.key)
                self._renewed.add(cached.key)
        self.cache.put_outputs(outputs)

    def remove_output(self, key: str) -> None:
        """Delete the output of a key, if there is one."""
        self.cache.remove_output(key)


def describe_fault(error: ValueError, reply: ModelReply) -> str:
    """Return a short description of the fault of an unusable answer.

    Args:
        error: Error of the parser of the answer.
        reply: Reply with the answer.
    """
    cut = "it ended because it was too long; " * reply.is_cut
    return cut + " ".join(_error_text(error).split())[:_FAULT_CHARS]


def corrected(request: ModelRequest, fault: str) -> ModelRequest:
    """Return a request that asks a model to correct its answer.

    Args:
        request: The request.
        fault: Description of the fault. It may quote a document, so the prompt fences it.
    """
    data = fenced(fault, name="fault", other_texts=[request.shared, request.prompt])
    feedback = (
        "Your last answer to this could not be used, because of this fault:\n"
        f"{data}\nAnswer again, briefly, and keep exactly to the form that is asked for."
    )
    return replace(request, prompt=f"{request.prompt}\n\n{feedback}")


def longest_fault() -> str:
    """Return the description of a fault with the most tokens: one token for each letter."""
    return "字 " * (_FAULT_CHARS // 2)


def _error_text(error: ValueError) -> str:
    """Return the message of an error; for a pydantic error, its first faults with locations."""
    from pydantic import ValidationError

    if not isinstance(error, ValidationError):
        return str(error)
    details = error.errors(include_url=False, include_context=False, include_input=False)
    faults = [
        ": ".join(filter(None, (".".join(map(str, detail["loc"])), detail["msg"])))
        for detail in details[:_FAULTS]
    ]
    more = [f"and {len(details) - _FAULTS} more"] * (len(details) > _FAULTS)
    return "; ".join(faults + more)


@dataclass(slots=True, kw_only=True)
class ModelCaller:
    """Calls a language model for one operation. Thread-safe."""

    model: LanguageModel
    """Language model, whose attributes are checked on creation."""
    cache: OutputCache = field(default_factory=MemoryOutputs)
    """Cache of usable answers."""
    answer_retries: int = 1
    """Maximum number of repeated requests for an unusable answer."""
    ledger: Ledger = field(default_factory=Ledger)
    """Ledger with the usage and the cost limit of the calls."""
    is_dry_run: bool = False
    """Whether calls are only estimated. The steps of an operation then assume the answers that
    make the following steps need most."""
    answered_by: dict[str, None] = field(init=False, default_factory=dict)
    """Names of the models, in order of first use, whose answers were used; a fallback is listed
    under its own name, and cached answers are ignored."""
    _locks: KeyedLock = field(init=False, default_factory=KeyedLock)

    def __post_init__(self) -> None:
        methods = ("estimate", "generate")
        check_model(self.model, methods, kind="language model", has_concurrency=True)

    @property
    def usage(self) -> Usage:
        """Usage of all calls so far."""
        return self.ledger.usage

    @property
    def usage_by_task(self) -> dict[str, Usage]:
        """Usage of all calls so far, by task."""
        return self.ledger.usage_by_task

    def is_cached(self, request: ModelRequest) -> bool:
        """Return whether the cache has an answer to a request."""
        return bool(self.cache.get_outputs([self._key(request)]))

    def call(self, request: ModelRequest, *, read: Callable[[str], _Answer]) -> _Answer:
        """Return the parsed answer to a request.

        Args:
            request: The request.
            read: Function that parses and checks an answer. It raises ValueError for an unusable
                answer; the next request contains the message.

        Raises:
            ModelAnswerError: If no answer was usable, or the model refuses to answer.
            CostLimitError: If the call could exceed the cost limit.
            ModelError: If the model fails.
        """
        key = self._key(request)
        with self._locks.hold(key):
            cached = self.cache.get_outputs([key]).get(key)
            if cached is not None:
                try:
                    answer = read(cached)
                except ValueError:
                    pass  # cached by another version of Spanwise with other checks
                else:
                    self.ledger.count(request.task, Usage(cached_calls=1))
                    return answer
            answer, reply = self._request(request, read)
            self._put(key, request, reply)
            return answer

    def call_all(
        self, requests: Sequence[ModelRequest], *, read: Callable[[int, str], _Answer]
    ) -> list[_Answer | ModelError]:
        """Send requests concurrently, and return the parsed answers in order.

        The result of a failed request is its error.

        Args:
            requests: The requests.
            read: As for `call`, with the position of the request as the first argument.

        Raises:
            CostLimitError: If a call could exceed the cost limit.
            ModelKeyError: If the provider refuses the API key, because every request would fail.
        """

        def answer(position: int) -> _Answer | ModelError:
            try:
                return self.call(requests[position], read=lambda text: read(position, text))
            except (CostLimitError, ModelKeyError):
                raise
            except ModelError as error:
                return error

        return map_bounded(answer, range(len(requests)), limit=self.model.concurrency)

    def stream(self, request: ModelRequest, *, read: Callable[[str], object]) -> Generator[str]:
        """Yield the parts of an answer as they arrive; a cached answer is one part.

        If the reader stops early, the usage so far is estimated, and nothing is cached.

        Args:
            request: The request.
            read: As for `call`. The complete answer is cached if it is usable.

        Raises:
            ModelAnswerError: After the last part, if the answer is unusable or a refusal.
            CostLimitError: If the call could exceed the cost limit.
            ModelError: If the model fails, before or after the first part.
        """
        key = self._key(request)
        cached = self.cache.get_outputs([key]).get(key)
        if cached is not None and _is_usable(read, cached):
            self.ledger.count(request.task, Usage(cached_calls=1))
            yield cached
            return
        with self.ledger.reserve(
            self.model.name, partial(self._estimate, request), ends=False
        ) as at_most:
            reply = yield from self._parts(request, at_most=at_most)
        _check_refusal(reply)
        try:
            read(reply.text)
        except ValueError as error:
            raise self._unusable(request, describe_fault(error, reply), calls=1) from error
        self._put(key, request, reply)

    def forget(self, request: ModelRequest) -> None:
        """Remove the answer to a request from the cache.

        Raises:
            StoreError: If the cache cannot be written.
        """
        self.cache.remove_output(self._key(request))

    def _key(self, request: ModelRequest) -> str:
        return request_key(self.model.name, request, version=model_version(self.model))

    def _put(self, key: str, request: ModelRequest, reply: ModelReply) -> None:
        self.answered_by[reply.model] = None
        self.cache.put_outputs(
            [CachedOutput(key=key, output=reply.text, task=request.task, model=reply.model)]
        )

    def _request(
        self, request: ModelRequest, read: Callable[[str], _Answer]
    ) -> tuple[_Answer, ModelReply]:
        """Return the first usable answer: parsed, and the reply that contains it."""
        attempt, fault = request, ""
        for number in range(self.answer_retries + 1):
            reply = self._generate(attempt, is_repeated=number > 0)
            _check_refusal(reply)
            try:
                return read(reply.text), reply
            except ValueError as error:
                fault = describe_fault(error, reply)
                attempt = corrected(request, fault)
        raise self._unusable(request, fault, calls=self.answer_retries + 1)

    def _generate(self, request: ModelRequest, *, is_repeated: bool) -> ModelReply:
        with self.ledger.reserve(self.model.name, partial(self._estimate, request)) as at_most:
            started = time.perf_counter()
            with translated_errors(self.model.name):
                reply = self._checked(self.model.generate(request))
            usage = replace(reply.usage, seconds=time.perf_counter() - started)
            if is_repeated:
                usage = replace(usage, repeated_calls=usage.calls)
            self.ledger.count(request.task, usage, at_most=at_most)
        return reply

    def _estimate(self, request: ModelRequest) -> Usage:
        with translated_errors(self.model.name):
            usage = self.model.estimate(request)
        return check_type(self.model.name, usage, Usage, what="estimate")

    def _checked(self, reply: object) -> ModelReply:
        """Return the reply of a model after a check of the types of its fields."""
        name = self.model.name
        reply = check_type(name, reply, ModelReply, what="reply")
        check_type(name, reply.text, str, what="text of the reply")
        check_type(name, reply.usage, Usage, what="usage of the reply")
        return reply

    def _parts(self, request: ModelRequest, *, at_most: float) -> Generator[str, None, ModelReply]:
        """Yield the parts of an answer, and return the reply. The usage is always counted."""
        seconds, chars, usage = 0.0, 0, None
        with translated_errors(self.model.name):
            parts = iter(self.model.stream(request))
        try:
            while True:
                started = time.perf_counter()
                with translated_errors(self.model.name):
                    part = next(parts, None)
                seconds += time.perf_counter() - started
                if not isinstance(part, str):
                    reply = self._checked(part)
                    usage = reply.usage
                    return reply
                check_cancelled()
                chars += len(part)
                yield part
        finally:
            if isinstance(parts, Generator):
                parts.close()  # ends the call at once, also while an exception refers to it
            if usage is None and chars:
                received = replace(request, max_output_tokens=-(-chars // _CHARS_PER_TOKEN))
                usage = self._estimate(received)
            if usage is not None:
                usage = replace(usage, seconds=seconds)
                self.ledger.count(request.task, usage, at_most=at_most)

    def _unusable(self, request: ModelRequest, fault: str, *, calls: int) -> ModelAnswerError:
        return unusable_answer(
            self.model.name,
            f"gave no usable answer for {request.task!r} in {calls} "
            f"{'calls' if calls > 1 else 'call'}: {fault}; try another model",
        )


def _is_usable(read: Callable[[str], object], text: str) -> bool:
    try:
        read(text)
    except ValueError:
        return False
    return True


def _check_refusal(reply: ModelReply) -> None:
    """Raise if a reply is a refusal."""
    if reply.refusal:
        raise unusable_answer(
            reply.model,
            f"refuses to answer: {reply.refusal}; try another model, or leave out this text",
        )
