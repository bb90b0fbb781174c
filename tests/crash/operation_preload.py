"""Import this module to load what operations need before their processes are forked."""

from __future__ import annotations

import importlib
import pkgutil
import threading
from contextlib import suppress

import tests.crash.operation_child  # noqa: F401 - loaded for the forked processes
from tests.crash.operations import NAMES, text_of
from tests.rebuilds import HashEmbedder

import spanwise
from spanwise import KnowledgeBase

_PACKAGES = ("stores", "ingest", "search", "answers", "knowledge_base")

for _name in _PACKAGES:
    _package = importlib.import_module(f"{spanwise.__name__}.{_name}")
    for _module in pkgutil.walk_packages(_package.__path__, f"{_package.__name__}."):
        with suppress(ImportError):  # of an extra that is not installed
            importlib.import_module(_module.name)
with KnowledgeBase(":memory:", embedder=HashEmbedder(), packs=()) as _base:
    _base.add_text(text_of(NAMES[0], 1), document_id=NAMES[0], media_type="text/markdown")
    _base.search("What was the lease?", deep=False)
assert threading.active_count() == 1, "a process with threads must not be forked"
