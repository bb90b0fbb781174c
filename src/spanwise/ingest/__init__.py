"""From sources to stored documents."""

from spanwise.ingest.folder_walk import Choice
from spanwise.ingest.given_parts import given_document
from spanwise.ingest.job import IngestJob
from spanwise.ingest.pipeline import Ingestor
from spanwise.ingest.prepare import Preparer
from spanwise.ingest.sources import find_sources
from spanwise.ingest.sync import look_into, sync_folder

__all__ = [
    "Choice",
    "IngestJob",
    "Ingestor",
    "Preparer",
    "find_sources",
    "given_document",
    "look_into",
    "sync_folder",
]
