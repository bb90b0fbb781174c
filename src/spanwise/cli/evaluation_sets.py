"""The questions of an evaluation, each set with an open knowledge base that holds its documents."""

from __future__ import annotations

import hashlib
import re
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from spanwise.cli.ingest import interruptible_bar
from spanwise.cli.settings import creation_keywords
from spanwise.config import fetch_options, knowledge_base_path, parse_options

if TYPE_CHECKING:
    from spanwise.evaluation.dataset import Dataset
    from spanwise.knowledge_base import KnowledgeBase


_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedSet:
    """Questions, and what they are asked of."""

    dataset: Dataset
    base: KnowledgeBase
    path: Path
    """Of the knowledge base."""


def open_questions(questions: Path, kb: str | None, *, stack: ExitStack) -> OpenedSet:
    """Return the questions of a file about documents of a knowledge base.

    Args:
        questions: The file.
        kb: The knowledge base; None for the one that is set.
        stack: Closes the knowledge base.

    Raises:
        OptionError: If a question is not usable; where its evidence stands is checked later.
        StoreError: If there is no such knowledge base.
    """
    from spanwise.evaluation.dataset import Dataset
    from spanwise.evaluation.datasets import read_questions
    from spanwise.knowledge_base import KnowledgeBase

    read = read_questions(questions)
    path = knowledge_base_path(kb)
    base = KnowledgeBase(path, create=False, parse=parse_options(), fetch=fetch_options())
    stack.enter_context(base)
    return OpenedSet(dataset=Dataset(name=questions.name, questions=read), base=base, path=path)


def open_dataset(
    dataset: Dataset, source: Path, *, stack: ExitStack, work: Path, quiet: bool
) -> OpenedSet:
    """Return a dataset with its knowledge base; what is not there yet is taken in.

    Args:
        dataset: Its questions and documents.
        source: Folder that it was read from.
        stack: Closes the knowledge base.
        work: Folder that the knowledge base is kept in.
        quiet: Whether no progress is drawn.

    Raises:
        DocumentError: If documents cannot be taken in.
        Interrupted: If it is stopped; the same command goes on.
    """
    from spanwise.evaluation.dataset_base import knowledge_base_of

    place = hashlib.sha256(str(source.resolve()).encode("utf-8", "replace")).hexdigest()[:8]
    path = work / f"{_NOT_IN_NAMES.sub('-', dataset.name)}-{place}.kb"
    work.mkdir(parents=True, exist_ok=True)
    with interruptible_bar(path, quiet=quiet) as bar:
        base = knowledge_base_of(
            dataset,
            path,
            on_document=bar.on_document,
            parse=parse_options(),
            **creation_keywords(path),
        )
    stack.enter_context(base)
    return OpenedSet(dataset=dataset, base=base, path=path)
