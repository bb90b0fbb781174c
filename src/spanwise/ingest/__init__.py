"""Ingest: from sources to stored documents. A name is loaded when it is first used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwise.loading import lazy_names

if TYPE_CHECKING:
    from spanwise.ingest.folder_walk import PathPatterns
    from spanwise.ingest.given_parts import given_document
    from spanwise.ingest.job import IngestJob
    from spanwise.ingest.pipeline import Ingestor
    from spanwise.ingest.prepare import Preparer
    from spanwise.ingest.sidecar import read_sidecars
    from spanwise.ingest.sources import find_sources, in_stored_folders, split_crawled
    from spanwise.ingest.sync import scan_folder, sync_folder

__all__ = [
    "IngestJob",
    "Ingestor",
    "PathPatterns",
    "Preparer",
    "find_sources",
    "given_document",
    "in_stored_folders",
    "read_sidecars",
    "scan_folder",
    "split_crawled",
    "sync_folder",
]

_MODULES = {
    "IngestJob": "job",
    "Ingestor": "pipeline",
    "PathPatterns": "folder_walk",
    "Preparer": "prepare",
    "find_sources": "sources",
    "given_document": "given_parts",
    "in_stored_folders": "sources",
    "read_sidecars": "sidecar",
    "scan_folder": "sync",
    "split_crawled": "sources",
    "sync_folder": "sync",
}

__getattr__ = lazy_names(__name__, _MODULES)
