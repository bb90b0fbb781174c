"""Copy of a knowledge base to another folder or database."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from spanwise.errors import OptionError, shown
from spanwise.stores.copy import StoreCopy, Verification
from spanwise.stores.opening import MEMORY, open_store
from spanwise.types import CopyReport

if TYPE_CHECKING:
    from spanwise.config import Location
    from spanwise.knowledge_base.components import Components


def copy_to(
    components: Components,
    target: Location,
    *,
    merge: bool,
    verification: Verification,
    on_progress: Callable[[str, int, int], None] | None,
) -> CopyReport:
    """Copy a knowledge base; see `KnowledgeBase.copy_to`."""
    started = time.perf_counter()
    if verification not in get_args(Verification):
        raise OptionError(f'verify is {shown(verification)}; give "sample" or "all"')
    if str(target) == MEMORY:
        raise OptionError('the target is ":memory:"; name a folder or the address of a database')
    if _identity(target) == _identity(components.folder or components.path):
        raise OptionError(f"{target} is the knowledge base itself; name another target")
    components.store.ensure_settings({})  # a closed source creates no target
    with closing(open_store(target, create=True)) as store:
        counts = StoreCopy(
            source=components.store,
            target=store,
            source_name=str(components.path),
            target_name=str(target),
            origin=_origin(components),
            merge=merge,
            verification=verification,
            readers=0 if isinstance(target, Path) and components.folder is not None else 3,
            on_progress=on_progress,
        ).run()
    return CopyReport(
        source=str(components.path),
        target=str(target),
        documents=counts.documents,
        copied=counts.copied,
        chunks=counts.chunks,
        outputs=counts.outputs,
        threads=counts.threads,
        verified=counts.verified,
        warnings=tuple(counts.warnings),
        seconds=time.perf_counter() - started,
    )


def _identity(location: Location) -> str:
    """Return a text that is equal for equal places."""
    return str(location.resolve()) if isinstance(location, Path) else str(location)


def _origin(components: Components) -> str:
    """Return the name of a knowledge base and a hash of its place, which shows no path."""
    place = _identity(components.folder or components.path)
    digest = hashlib.sha256(place.encode(errors="surrogatepass")).hexdigest()
    return f"{components.path.name} {digest[:12]}"
