"""Knowledge bases named on the command line, opened as one."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from spanwise.config import knowledge_base_path

if TYPE_CHECKING:
    from spanwise.knowledge_base import KnowledgeBase


def open_knowledge_bases(folders: Sequence[str] | str | None, **options: Any) -> KnowledgeBase:
    """Return the existing knowledge base of a command, or several as one.

    Args:
        folders: Values of `--kb`; none for the knowledge base of the settings.
        **options: Arguments of `KnowledgeBase`, the same for each one.

    Raises:
        SpanwiseError: If one cannot be opened, or they cannot be searched together.
    """
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
