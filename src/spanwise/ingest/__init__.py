"""From sources to stored documents."""

from spanwise.ingest.pipeline import Ingestor
from spanwise.ingest.prepare import Preparer
from spanwise.ingest.sources import find_sources

__all__ = ["Ingestor", "Preparer", "find_sources"]
