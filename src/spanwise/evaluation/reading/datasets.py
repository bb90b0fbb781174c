"""Datasets by name: which there are, and how a local copy of one is read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Literal, get_args

from spanwise.errors import OptionError
from spanwise.evaluation.dataset import Dataset, DocumentText, LabelledQuestion, LeftOut
from spanwise.evaluation.reading.benchmark_folder import read_benchmark_folder
from spanwise.evaluation.reading.checking import usable_questions
from spanwise.evaluation.reading.checkout import Checkout
from spanwise.evaluation.reading.chroma import read_chroma
from spanwise.evaluation.reading.contextual_retrieval import read_contextual_retrieval
from spanwise.evaluation.reading.cuad import read_cuad
from spanwise.evaluation.reading.faults import FaultError, Faults, shown
from spanwise.evaluation.reading.financebench import read_financebench
from spanwise.evaluation.reading.kite import read_kite
from spanwise.evaluation.reading.legalbench_rag import read_legalbench_rag
from spanwise.evaluation.reading.qmsum import read_qmsum

__all__ = ["DATASETS", "Store", "read_dataset"]

Store = Literal["shared", "single"]
"""Whether a question is asked of all documents, or of its own documents alone."""


@dataclass(frozen=True, slots=True)
class _Source:
    words: str
    read: Callable[[Checkout, Faults], Dataset]
    is_published: bool = True
    """Whether others made it: its user cannot correct a question that cannot be used."""


_SOURCES = {
    "spanwise": _Source(
        "a folder with documents.jsonl and queries.jsonl, as benchmarks of Spanwise are kept",
        read_benchmark_folder,
        is_published=False,
    ),
    "chroma": _Source("Chroma's chunking evaluation: excerpts in five long texts", read_chroma),
    "financebench": _Source("FinanceBench: figures in the pages of filings", read_financebench),
    "legalbench-rag": _Source(
        "LegalBench-RAG: clauses in contracts and policies", read_legalbench_rag
    ),
    "cuad": _Source("CUAD: 41 kinds of clauses in contracts", read_cuad),
    "qmsum": _Source("QMSum: turns of long meetings", read_qmsum),
    "contextual-retrieval": _Source(
        "the set of Anthropic's contextual retrieval: chunks of source code",
        read_contextual_retrieval,
    ),
    "kite": _Source(
        "KITE: questions with rubrics about papers, filings, a handbook and opinions", read_kite
    ),
}

DATASETS: Mapping[str, str] = MappingProxyType(
    {name: source.words for name, source in _SOURCES.items()}
)
"""Names of the datasets that can be read, with words for people."""


def read_dataset(name: str, path: str | Path, *, store: Store = "shared") -> Dataset:
    """Return a dataset from a local copy, checked: nothing is downloaded.

    Args:
        name: One of `DATASETS`.
        path: Folder that it was cloned or unpacked to.
        store: "shared" to ask every question of all documents, as far as it says which it means;
            "single" to ask it of the documents of its evidence alone.

    Returns:
        The questions in the order of their files. A question whose dataset gives it a scope keeps
        that in both stores.

    Raises:
        OptionError: If there is no such dataset or folder, the folder is no copy of it, or
            something in it is not usable: the first 20 faults are told. Of a published dataset,
            up to a tenth of the questions may be unusable: they are left out (`left_out`).
    """
    if name not in _SOURCES:
        raise OptionError(f"dataset is {name!r}; the datasets are {', '.join(_SOURCES)}")
    if store not in get_args(Store):
        raise OptionError(f'store is {store!r}; give "shared" or "single"')
    folder = Path(path)
    if not folder.exists():
        raise OptionError(
            f"there is no {folder}; name the folder that {name} was cloned or unpacked to"
        )
    source = _SOURCES[name]
    faults = Faults(left_out=LeftOut() if source.is_published else None)
    dataset = source.read(Checkout(name, folder), faults)
    _check_ids(dataset, faults)
    faults.raise_any(str(folder), questions=len(dataset.questions))
    if not dataset.questions:
        raise OptionError(f"{folder} has no questions of {name}; name a whole copy of it")
    dataset = usable_questions(
        replace(dataset, left_out=faults.left_out if source.is_published else None),
        {
            document.id: None
            if document.text is None
            else DocumentText(text=document.text, pages=document.pages)
            for document in dataset.documents
        },
        called=str(folder),
    )
    if store == "single":
        return replace(dataset, questions=tuple(map(_alone, dataset.questions)))
    return dataset


def _check_ids(dataset: Dataset, faults: Faults) -> None:
    for what, ids in (
        ("documents", Counter(document.id for document in dataset.documents)),
        ("questions", Counter(question.id for question in dataset.questions)),
    ):
        for one, count in ids.items():
            if count > 1:
                with faults.gathered():
                    raise FaultError(f"{count} {what} have the id {shown(one)}")


def _alone(question: LabelledQuestion) -> LabelledQuestion:
    """Return a question that is asked of the documents of its evidence alone."""
    own = tuple(dict.fromkeys(one.document_id for one in question.evidence))
    return replace(question, scope=question.scope or own or None)
