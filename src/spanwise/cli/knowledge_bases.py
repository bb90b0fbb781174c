"""Knowledge bases named on the command line, opened as one."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from itertools import chain, count
from typing import TYPE_CHECKING, Any

from spanwise.config import knowledge_base_path
from spanwise.loading import fast_imports

if TYPE_CHECKING:
    from spanwise.config import Location
    from spanwise.knowledge_base import KnowledgeBase


def named_locations(folders: Sequence[str]) -> dict[str, Location]:
    """Return the places of a command that serves knowledge bases, by their names for clients.

    Args:
        folders: Values of `--kb`; none for the knowledge base of the settings.

    Returns:
        Folders and addresses by name without ".kb", with a number if an earlier one has the same
        name.
    """
    named: dict[str, Location] = {}
    for folder in folders or (None,):
        path = knowledge_base_path(folder)
        name = path.name.removesuffix(".kb")
        names = chain([name], (f"{name}-{number}" for number in count(2)))
        named[next(one for one in names if one not in named)] = path
    return named


def open_knowledge_bases(folders: Sequence[str] | str | None, **options: Any) -> KnowledgeBase:
    """Return the existing knowledge base of a command, or several as one.

    Args:
        folders: Values of `--kb`; none for the knowledge base of the settings.
        **options: Arguments of `KnowledgeBase`, the same for each one.

    Raises:
        SpanwiseError: If one cannot be opened, or they cannot be searched together.
    """
    with fast_imports():
        from spanwise.knowledge_base import KnowledgeBase

    named = [folders] if isinstance(folders, str) else list(folders or [])
    if len(named) < 2:
        path = knowledge_base_path(named[0] if named else None)
        return KnowledgeBase(path, create=False, **options)
    from spanwise.knowledge_base.several import KnowledgeBases

    with ExitStack() as stack:
        bases = [
            stack.enter_context(KnowledgeBase(knowledge_base_path(name), create=False, **options))
            for name in named
        ]
        combined = KnowledgeBases(bases)
        stack.pop_all()
    return combined
