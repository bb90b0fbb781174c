"""Ask by the batch interface of a vendor: cheaper, and answered within hours.

Rules:
    Requests that come within a moment go into one batch.
    A batch is noted for each of its requests, in what is kept, as soon as it is sent. After a kill,
    the same requests wait for that batch, and are not sent again.
    A request that its batch did not answer goes into another one; while it is not known whether it
    did, as where the provider cannot be reached, it does not.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from spanwise.errors import ModelError, OptionError
from spanwise.models import event_loop as loop
from spanwise.models.ports import LanguageModel, ModelReply, ModelRequest, OutputCache
from spanwise.models.providers.language_model import (
    VendorModel,
    estimated_usage,
    to_messages,
    to_parameters,
    to_reply,
    to_settings,
    told_usage,
)
from spanwise.models.providers.retry import Attempts
from spanwise.types import Usage

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelResponse
    from pydantic_ai.models import Model
    from pydantic_ai.models.batch import Batch, BatchRequest, BatchResult, EncodedBatchRequest

    _Waiting = tuple[EncodedBatchRequest, asyncio.Future[Batch]]


_CONCURRENCY = 256
_ID_CHARS = 60  # vendors take 64
_GONE = 404
_MAX_POLL_SECONDS = 600.0
_POLL_GROWTH = 1.5


def in_batches(model: LanguageModel, *, kept: OutputCache) -> BatchModel:
    """Return a model that asks by the batch interface.

    Args:
        model: The language model.
        kept: Where the batches that were sent are noted.

    Raises:
        OptionError: If its vendor has no batch interface.
    """
    if not isinstance(model, VendorModel) or model.model.batch_max_requests is None:
        raise OptionError(
            f"batch is True; {model.name!r} has no batch interface, or has a fallback: leave batch "
            "out, or use a model of openai, anthropic or google, without a fallback"
        )
    return BatchModel(model=model, kept=kept)


@dataclass(slots=True, kw_only=True)
class BatchModel:
    """Asks one model of one vendor, many requests at a time."""

    model: VendorModel
    kept: OutputCache
    """Where the batches that were sent are noted."""
    gather_seconds: float = 2.0
    """How long requests are gathered for a batch."""
    poll_seconds: float = 30.0
    """Until a batch is looked at again; longer each time, up to ten minutes."""
    _waiting: list[_Waiting] = field(default_factory=list)
    """Requests for the next batch, and who wants to know which one it is."""
    _results: dict[str, asyncio.Task[dict[str, BatchResult]]] = field(default_factory=dict)
    """What each batch ends with, by its id."""
    _sending: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def name(self) -> str:
        """Return vendor and model."""
        return self.model.name

    @property
    def concurrency(self) -> int:
        """Return how many requests may wait for a batch at once."""
        return _CONCURRENCY

    def estimate(self, request: ModelRequest) -> Usage:
        """Return about what a call takes, at the price of a batch."""
        return estimated_usage(
            request,
            spec=self.model.spec,
            address=self.model.connection.address,
            in_batch=True,
        )

    def generate(self, request: ModelRequest) -> ModelReply:
        """Return the answer to a request, or its refusal, when its batch has ended.

        Raises:
            ModelError: If the provider fails, or answers it in no batch.
        """
        return loop.run(self._generate(request))

    def stream(self, request: ModelRequest) -> Iterator[str | ModelReply]:
        """Yield the answer as it comes: not by a batch, since somebody waits for it."""
        return self.model.stream(request)

    async def _generate(self, request: ModelRequest) -> ModelReply:
        asked = _asked(self.model, request)
        try:
            encoded = await self.model.model.batch_encode(asked)
        except Exception as error:  # noqa: BLE001 - whatever the client of a vendor raises
            failure = self.model.translate(error)
            raise failure.error from failure.error.__cause__
        key = hashlib.sha256(f"{encoded.group}\n{encoded.body}".encode()).hexdigest()
        encoded = replace(encoded, custom_id=key[:_ID_CHARS])
        for number in range(self.model.options.retries + 1):
            note = f"batch:{key}:{number}"
            batch = await self._noted(note)
            if batch is None:
                batch = await self._sent(encoded)
                await self._note(note, batch, task=request.task)
            try:
                results = await asyncio.shield(self._ended(batch))
                response = self.model.model.batch_decode(results[encoded.custom_id], asked)
            except ModelError:  # the batch could not be looked at, and may hold the answer
                raise
            except Exception as error:  # noqa: BLE001 - as above; KeyError where there is no result
                failure = self.model.translate(error)
                if not failure.error.retryable:
                    raise failure.error from failure.error.__cause__
                continue
            return self._reply(request, response, retries=number)
        raise failure.error

    def _reply(self, request: ModelRequest, response: ModelResponse, *, retries: int) -> ModelReply:
        spec, address = self.model.spec, self.model.connection.address
        usage = told_usage(request, response, spec=spec, address=address, in_batch=True)
        return to_reply(request, response, spec=spec, usage=replace(usage, retries=retries))

    async def _noted(self, note: str) -> Batch | None:
        from pydantic import TypeAdapter
        from pydantic_ai.models.batch import Batch

        kept = await asyncio.to_thread(self.kept.get_output, note)
        return None if kept is None else TypeAdapter(Batch).validate_json(kept)

    async def _note(self, note: str, batch: Batch, *, task: str) -> None:
        from pydantic import TypeAdapter
        from pydantic_ai.models.batch import Batch as Handle

        written = TypeAdapter(Handle).dump_json(batch).decode()
        await asyncio.to_thread(self.kept.put_output, note, written, task=task, model=self.name)

    async def _sent(self, encoded: EncodedBatchRequest) -> Batch:
        """Return the batch that a request has gone into."""
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
        for part in _parts(self.model.model, [one for one in waiting if not one[1].cancelled()]):
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
        attempts = Attempts(traffic=self.model.connection.traffic, options=self.model.options)
        # Equal requests are one line of the batch.
        lines = list({encoded.custom_id: encoded for encoded in requests}.values())
        while True:
            try:
                return await self.model.model.batch_create(lines)
            except Exception as error:  # noqa: BLE001 - as above
                failure = self.model.translate(error)
            # Without an answer it may have been made, and would be paid for twice.
            unanswered = failure.error.status is None or failure.error.status >= 500
            await attempts.wait_after(replace(failure, is_final=unanswered))

    def _ended(self, batch: Batch) -> asyncio.Task[dict[str, BatchResult]]:
        """Return what waits for the end of a batch: one for all of its requests."""
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
                if failed.status == _GONE:  # it is kept no more: as if it had answered nothing
                    return {}
                if not failed.retryable or failures > self.model.options.retries:
                    if batch.status == "ended" and failed.status is not None:
                        raise  # a batch that ended without results: each of its requests failed so
                    raise failed from failed.__cause__
            await asyncio.sleep(seconds)
            seconds = min(seconds * _POLL_GROWTH, _MAX_POLL_SECONDS)


def _asked(model: VendorModel, request: ModelRequest) -> BatchRequest:
    from pydantic_ai.models.batch import BatchRequest

    settings = to_settings(request, model.model, timeout_seconds=model.options.timeout_seconds)
    settings.pop("timeout", None)  # of a call, which a batch is not
    settings.pop("max_retries", None)
    return BatchRequest(
        custom_id="request",
        messages=to_messages(request, marks_shared=model.spec.vendor.marks_shared),
        model_settings=settings,
        model_request_parameters=to_parameters(request, model.model),
    )


def _parts(model: Model, waiting: Sequence[_Waiting]) -> Iterator[list[_Waiting]]:
    """Yield the requests that may go into one batch each: of one group, within its limits."""
    by_group: dict[str, list[_Waiting]] = {}
    for one in waiting:
        by_group.setdefault(one[0].group, []).append(one)
    for group in by_group.values():
        part: list[_Waiting] = []
        size = 0
        for one in group:
            added = model.batch_request_size(one[0])
            full = len(part) == model.batch_max_requests
            if part and (full or size + added > (model.batch_max_bytes or size + added)):
                yield part
                part, size = [], 0
            part.append(one)
            size += added
        yield part
