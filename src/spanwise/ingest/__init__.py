"""Ingest: from sources to stored documents."""

from spanwise.ingest.folder_walk import PathPatterns
from spanwise.ingest.given_parts import given_document
from spanwise.ingest.pipeline import IngestJob, Ingestor
from spanwise.ingest.prepare import Preparer
from spanwise.ingest.sources import find_sources
from spanwise.ingest.sync import scan_folder, sync_folder

__all__ = [
    "IngestJob",
    "Ingestor",
    "PathPatterns",
    "Preparer",
    "find_sources",
    "given_document",
    "scan_folder",
    "sync_folder",
]
