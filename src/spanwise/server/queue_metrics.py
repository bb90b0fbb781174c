"""Metrics of the ingest queues, read from their jobs, so that they cover all processes."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    SummaryMetricFamily,
)
from prometheus_client.registry import Collector

from spanwise.errors import StoreError

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

    from spanwise.server.jobs import QueueCounts
    from spanwise.server.queue import IngestQueue

_logger = logging.getLogger("spanwise.server")
_BASE = "knowledge_base"
_WAITING = ("queued", "running")
_ENDED = ("done", "failed", "cancelled")
_OUTCOMES = ("added", "replaced", "updated", "unchanged", "failed")


def queue_metrics(queues: Mapping[str, IngestQueue]) -> bytes:
    """Return the metrics of queues in the text format of Prometheus.

    A queue whose jobs cannot be read is left out, with a record in the log.

    Args:
        queues: Queues by the name of their knowledge base.
    """
    counts = {}
    for name, queue in queues.items():
        try:
            counts[name] = queue.jobs.counts()
        except StoreError as error:
            _logger.error("the metrics of a queue cannot be read: %s", error)  # noqa: TRY400 - the error says enough
    registry = CollectorRegistry()
    registry.register(_Counts(counts))
    return generate_latest(registry)


class _Counts(Collector):
    """Metrics made from numbers of queues."""

    def __init__(self, counts: Mapping[str, QueueCounts]) -> None:
        self._counts = counts

    def collect(self) -> Iterable[Metric]:
        jobs = GaugeMetricFamily(
            "spanwise_jobs", "Unfinished ingest jobs.", labels=[_BASE, "state"]
        )
        oldest = GaugeMetricFamily(
            "spanwise_jobs_oldest_wait_seconds",
            "Time that the oldest queued job has waited.",
            labels=[_BASE],
        )
        for name, counts in self._counts.items():
            for state in _WAITING:
                jobs.add_metric([name, state], counts.jobs.get(state, 0))
            oldest.add_metric([name], counts.oldest_wait_seconds)
        yield from (jobs, oldest, *self._totals())

    def _totals(self) -> Iterator[Metric]:
        ended = CounterMetricFamily("spanwise_jobs_ended", "Ended jobs.", labels=[_BASE, "state"])
        waits = SummaryMetricFamily(
            "spanwise_job_wait_seconds", "Time from request to start of jobs.", labels=[_BASE]
        )
        documents = CounterMetricFamily(
            "spanwise_ingest_documents", "Documents of jobs.", labels=[_BASE, "outcome"]
        )
        restarts = CounterMetricFamily(
            "spanwise_ingest_restarts", "Deaths of the ingest process.", labels=[_BASE]
        )
        for name, counts in self._counts.items():
            totals = counts.totals
            for state in _ENDED:
                ended.add_metric([name, state], totals.get(f"jobs_{state}", 0))
            waits.add_metric([name], int(totals.get("waits", 0)), totals.get("wait_seconds", 0.0))
            for outcome in _OUTCOMES:
                documents.add_metric([name, outcome], totals.get(f"documents_{outcome}", 0))
            restarts.add_metric([name], totals.get("restarts", 0))
        yield from (ended, waits, documents, restarts)
