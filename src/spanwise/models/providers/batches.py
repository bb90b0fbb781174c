"""Batch interfaces of vendors: cheaper calls that are answered within hours.

Rules:
    Requests that arrive within a short time are sent in one batch.
    As soon as a batch is sent, its id is cached for each of its requests. After a kill, the same
    requests wait for that batch and are not sent again.
    A request for which its batch has no result is sent again in another batch. A request whose
    result is not known, for example because the provider cannot be reached, is not sent again.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from spanwise.errors import ModelError, OptionError
from spanwise.models.ports import LanguageModel, ModelReply, ModelRequest
from spanwise.models.providers.language_model import (
    VendorModel,
    to_messages,
    to_parameters,
    to_settings,
)
from spanwise.threads import run_coroutine
from spanwise.types import Usage
from spanwise.types.output_cache import CachedOutput, OutputCache

if TYPE_CHECKING:
    from pydantic_ai.models import Model
    from pydantic_ai.models.batch import Batch, BatchRequest, BatchResult, EncodedBatchRequest

    _Waiting = tuple[EncodedBatchRequest, asyncio.Future[Batch]]


_CONCURRENCY = 256
_ID_CHARS = 60  # vendors allow 64
_GONE = 404
_MAX_POLL_SECONDS = 600.0
_POLL_GROWTH = 1.5


def make_batch_model(model: LanguageModel, *, cache: OutputCache) -> BatchModel:
    """Return a language model that uses the batch interface of its vendor.

    Args:
        model: The language model.
        cache: Cache of the ids of sent batches, for a repeated run.

    Raises:
        OptionError: If the vendor has no batch interface, or the model has a fallback.
    """
    if not isinstance(model, VendorModel) or model.model.batch_max_requests is None:
        raise OptionError(
            f"batch is True; {model.name!r} has no batch interface, or has a fallback: leave batch "
            "out, or use a model of openai, anthropic or google, without a fallback"
        )
    return BatchModel(model=model, cache=cache)


@dataclass(slots=True, kw_only=True)
class BatchModel:
    """Language model that is called through the batch interface of its vendor."""

    model: VendorModel
    cache: OutputCache
    """Cache of the ids of sent batches."""
    gather_seconds: float = 2.0
    """Time during which requests are collected for a batch, in seconds."""
    poll_seconds: float = 30.0
    """First interval between two reads of the status of a batch, in seconds; it grows to ten
    minutes."""
    _waiting: list[_Waiting] = field(default_factory=list)
    """Requests for the next batch, each with the future of the sent batch."""
    _results: dict[str, asyncio.Task[dict[str, BatchResult]]] = field(default_factory=dict)
    """Tasks that wait for the results of a batch, by its id."""
    _sending: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def name(self) -> str:
        """Return the name of the model, "vendor:model"."""
        return self.model.name

    @property
    def concurrency(self) -> int:
        """Return the maximum number of requests that wait for batches."""
        return _CONCURRENCY

    def estimate(self, request: ModelRequest) -> Usage:
        """Return the estimated usage of a call, at the price of a batch."""
        return self.model.estimate(request, in_batch=True)

    def generate(self, request: ModelRequest) -> ModelReply:
        """Return the answer to a request, or its refusal, after its batch has ended.

        Raises:
            ModelError: If the provider fails, or no batch has a result for the request.
        """
        return run_coroutine(self._generate(request))

    def stream(self, request: ModelRequest) -> Iterator[str | ModelReply]:
        """Yield the parts of the answer of a direct call, because a reader waits for them."""
        return self.model.stream(request)

    async def _generate(self, request: ModelRequest) -> ModelReply:
        batch_request = _batch_request(self.model, request)
        try:
            encoded = await self.model.model.batch_encode(batch_request)
        except Exception as error:  # noqa: BLE001 - clients of vendors raise anything
            failure = self.model.translate(error)
            raise failure.error from failure.error.__cause__
        key = hashlib.sha256(f"{encoded.group}\n{encoded.body}".encode()).hexdigest()
        encoded = replace(encoded, custom_id=key[:_ID_CHARS])
        for number in range(self.model.options.retries + 1):
            cache_key = f"batch:{key}:{number}"
            batch = await self._cached_batch(cache_key)
            if batch is None:
                batch = await self._send(encoded)
                await self._cache_batch(cache_key, batch, task=request.task)
            try:
                results = await asyncio.shield(self._results_of(batch))
                response = self.model.model.batch_decode(results[encoded.custom_id], batch_request)
            except ModelError:  # the status is unknown: the batch may still have the answer
                raise
            except Exception as error:  # noqa: BLE001 - as above; KeyError if there is no result
                failure = self.model.translate(error)
                if not failure.error.retryable:
                    raise failure.error from failure.error.__cause__
                continue
            return self.model.reply(request, response, retries=number, in_batch=True)
        raise failure.error

    async def _cached_batch(self, cache_key: str) -> Batch | None:
        from pydantic import TypeAdapter
        from pydantic_ai.models.batch import Batch

        found = await asyncio.to_thread(self.cache.get_outputs, [cache_key])
        cached = found.get(cache_key)
        return None if cached is None else TypeAdapter(Batch).validate_json(cached)

    async def _cache_batch(self, cache_key: str, batch: Batch, *, task: str) -> None:
        from pydantic import TypeAdapter
        from pydantic_ai.models.batch import Batch as Handle

        output = TypeAdapter(Handle).dump_json(batch).decode()
        cached = CachedOutput(key=cache_key, output=output, task=task, model=self.name)
        await asyncio.to_thread(self.cache.put_outputs, [cached])

    async def _send(self, encoded: EncodedBatchRequest) -> Batch:
        """Send a request with the next batch, and return this batch."""
        sent: asyncio.Future[Batch] = asyncio.get_running_loop().create_future()
        self._waiting.append((encoded, sent))
        if len(self._waiting) == 1:
            task = asyncio.create_task(self._send_waiting())
            self._sending.add(task)
            task.add_done_callback(self._sending.discard)
        return await sent

    async def _send_waiting(self) -> None:
        await asyncio.sleep(self.gather_seconds)
        waiting, self._waiting = self._waiting, []
        active = [request for request in waiting if not request[1].cancelled()]
        for part in _split_batches(self.model.model, active):
            try:
                batch = await self._create([encoded for encoded, _ in part])
            except ModelError as error:
                for _, sent in part:
                    if not sent.done():
                        sent.set_exception(error)
            else:
                for _, sent in part:
                    if not sent.done():
                        sent.set_result(batch)

    async def _create(self, requests: Sequence[EncodedBatchRequest]) -> Batch:
        state = self.model.new_retry_state()
        # Identical requests are sent once.
        lines = list({encoded.custom_id: encoded for encoded in requests}.values())
        while True:
            try:
                return await self.model.model.batch_create(lines)
            except Exception as error:  # noqa: BLE001 - as above
                failure = self.model.translate(error)
            # Without a response the batch may exist, and a retry would cost twice as much.
            unanswered = failure.error.status is None or failure.error.status >= 500
            await state.wait_after(replace(failure, is_final=unanswered))

    def _results_of(self, batch: Batch) -> asyncio.Task[dict[str, BatchResult]]:
        """Return the task that waits for the results of a batch, shared by all its requests."""
        if batch.id not in self._results:
            self._results[batch.id] = asyncio.create_task(self._wait_for(batch))
        return self._results[batch.id]

    async def _wait_for(self, batch: Batch) -> dict[str, BatchResult]:
        seconds, failures = self.poll_seconds, 0
        while True:
            try:
                batch = await self.model.model.batch_status(batch)
                if batch.status == "ended":
                    results = await self.model.model.batch_results(batch)
                    return {result.custom_id: result for result in results}
                failures = 0
            except Exception as error:
                failures += 1
                failed = self.model.translate(error).error
                if failed.status == _GONE:  # the provider deleted it: no request has a result
                    return {}
                if not failed.retryable or failures > self.model.options.retries:
                    if batch.status == "ended" and failed.status is not None:
                        raise  # the batch ended without results: each request has this error
                    raise failed from failed.__cause__
            await asyncio.sleep(seconds)
            seconds = min(seconds * _POLL_GROWTH, _MAX_POLL_SECONDS)


def _batch_request(model: VendorModel, request: ModelRequest) -> BatchRequest:
    from pydantic_ai.models.batch import BatchRequest

    settings = to_settings(request, model.model, timeout_seconds=model.options.timeout_seconds)
    settings.pop("timeout", None)  # applies to single calls only
    settings.pop("max_retries", None)
    return BatchRequest(
        custom_id="request",
        messages=to_messages(request, marks_shared=model.spec.vendor.marks_shared),
        model_settings=settings,
        model_request_parameters=to_parameters(request, model.model),
    )


def _split_batches(model: Model, waiting: Sequence[_Waiting]) -> Iterator[list[_Waiting]]:
    """Yield the requests of each batch. A batch has one group and respects the vendor's limits."""
    by_group: dict[str, list[_Waiting]] = {}
    for request in waiting:
        by_group.setdefault(request[0].group, []).append(request)
    for group in by_group.values():
        part: list[_Waiting] = []
        size = 0
        for request in group:
            added = model.batch_request_size(request[0])
            full = len(part) == model.batch_max_requests
            if part and (full or size + added > (model.batch_max_bytes or size + added)):
                yield part
                part, size = [], 0
            part.append(request)
            size += added
        yield part
