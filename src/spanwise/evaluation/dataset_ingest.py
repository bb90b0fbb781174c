"""Knowledge bases of datasets, and the document texts to which evidence positions refer."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypedDict, Unpack

from spanwise.errors import DocumentError, OptionError
from spanwise.evaluation.dataset import Dataset, DatasetDocument, DocumentText
from spanwise.knowledge_base import KnowledgeBase
from spanwise.types import GivenParts, IngestProgress, IngestReport

if TYPE_CHECKING:
    from spanwise.models.ports import Embedder
    from spanwise.options import (
        ChunkOptions,
        FetchOptions,
        ModelOptions,
        ParseOptions,
        SectionOptions,
    )
    from spanwise.types import DocumentRecord
    from spanwise.types.listener import Listener


_MAX_SHOWN_FAILURES = 3


class KnowledgeBaseOptions(TypedDict, total=False):
    """Keyword arguments of `KnowledgeBase`."""

    embedder: str | Embedder | None
    tokenizer: str | None
    sections: SectionOptions | None
    chunks: ChunkOptions | None
    packs: Sequence[str | Path] | None
    parse: ParseOptions | None
    fetch: FetchOptions | None
    models: ModelOptions | None
    listener: Listener | None


def knowledge_base_of(
    dataset: Dataset,
    folder: str | Path,
    *,
    on_document: Callable[[IngestProgress], None] | None = None,
    **options: Unpack[KnowledgeBaseOptions],
) -> KnowledgeBase:
    """Return an open knowledge base that contains exactly the documents of a dataset.

    Unchanged documents are not added again, so a repeated call continues an interrupted one.

    Args:
        dataset: Dataset with documents. Document ids are kept. Texts are stored unchanged, files
            are parsed as by `KnowledgeBase.add`, and a title replaces the title of the file.
        folder: Folder of the knowledge base, created if missing; or ":memory:".
        on_document: Function called after each document.
        **options: Options of the knowledge base. For an existing one, they must be unchanged.

    Raises:
        OptionError: If the dataset has no documents, or the knowledge base contains other
            documents or was created with other options.
        DocumentError: If documents cannot be added. All others have been added.
        StoreError: If the knowledge base cannot be written.
    """
    if not dataset.documents:
        raise OptionError(
            f"the dataset {dataset.name!r} has no documents; open the knowledge base that has them"
        )
    base = KnowledgeBase(folder, durability="fast", **options)  # can be rebuilt from the dataset
    try:
        records = {record.id: record for record in base.list()}
        _check_others(records, dataset)
        _fill(base, dataset.documents, records, on_document=on_document)
    except BaseException:
        base.close()
        raise
    return base


def texts(
    base: KnowledgeBase, ids: Iterable[str] | None = None, *, dataset: Dataset | None = None
) -> Mapping[str, DocumentText]:
    """Return the texts of documents by id. Each text is read at its first use and cached.

    Args:
        base: Open knowledge base with the documents.
        ids: Ids of the documents; None for all.
        dataset: Dataset whose texts take precedence: they may have pages that the knowledge base
            does not store. None if there is no dataset.

    Raises:
        DocumentNotFoundError: When the text of a missing document is read.
    """
    document_ids = (record.id for record in base.list()) if ids is None else ids
    return _Texts(base, document_ids, () if dataset is None else dataset.documents)


class _Texts(Mapping[str, DocumentText]):
    """Document texts by id, read on demand."""

    def __init__(
        self, base: KnowledgeBase, ids: Iterable[str], documents: Iterable[DatasetDocument]
    ) -> None:
        self._base = base
        self._texts: dict[str, DocumentText | None] = dict.fromkeys(ids)
        for document in documents:
            if document.id in self._texts and document.text is not None:
                self._texts[document.id] = DocumentText(text=document.text, pages=document.pages)

    def __getitem__(self, document_id: str) -> DocumentText:
        read = self._texts[document_id]
        if read is None:
            document = self._base.get(document_id)
            read = DocumentText(text=document.text, pages=document.pages)
            self._texts[document_id] = read
        return read

    def __contains__(self, document_id: object) -> bool:
        return document_id in self._texts  # `Mapping` would read the text

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self._texts)


def _check_others(records: Iterable[str], dataset: Dataset) -> None:
    """Check that a knowledge base has no other documents, because they would be searched too.

    Raises:
        OptionError: If there is such a document.
    """
    own = {document.id for document in dataset.documents}
    others = [document_id for document_id in records if document_id not in own]
    if others:
        raise OptionError(
            f"the knowledge base contains {len(others):,} documents that are not in the dataset "
            f"{dataset.name!r}, such as {others[0]!r}; name another folder"
        )


def _fill(
    base: KnowledgeBase,
    documents: Sequence[DatasetDocument],
    records: Mapping[str, DocumentRecord],
    *,
    on_document: Callable[[IngestProgress], None] | None,
) -> None:
    """Add documents in a fixed order, so that equal runs build equal indexes.

    Raises:
        DocumentError: If documents failed. It is raised after all documents were tried.
    """
    sizes = [_size(document) for document in documents]
    bytes_total = sum(sizes)
    failures: list[DocumentError] = []
    bytes_done = chunks = 0
    for done, document in enumerate(documents, start=1):
        if _is_stored(document, records.get(document.id)):
            report = IngestReport(unchanged=(document.id,))
        else:
            report = _added(base, document, failures)
        bytes_done += sizes[done - 1]
        chunks += report.chunks
        if on_document is not None:
            on_document(
                IngestProgress(
                    documents_done=done,
                    documents_total=len(documents),
                    bytes_done=bytes_done,
                    bytes_total=bytes_total,
                    chunks=chunks,
                    document_id=document.id,
                    outcome=_outcome(report),
                )
            )
    if failures:
        examples = "; ".join(
            f"{failure.source}: {failure}" for failure in failures[:_MAX_SHOWN_FAILURES]
        )
        raise DocumentError(
            f"{len(failures)} of {len(documents)} documents cannot be added, so questions about "
            f"them would count as missed: {examples}",
            source=failures[0].source,
            code=failures[0].code,
        )
    if chunks:
        base.compact()


def _is_stored(document: DatasetDocument, record: DocumentRecord | None) -> bool:
    """Return whether a document is stored unchanged."""
    if record is None or record.status == "needs_ocr":
        return False
    if document.title not in ("", record.title):
        return False
    if document.path is not None:
        with document.path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest() == record.content_hash
    text = (document.text or "").encode("utf-8")
    return hashlib.sha256(text).hexdigest() == record.content_hash


def _size(document: DatasetDocument) -> int:
    if document.path is not None:
        return document.path.stat().st_size
    return len((document.text or "").encode("utf-8"))


def _added(
    base: KnowledgeBase, document: DatasetDocument, failures: list[DocumentError]
) -> IngestReport:
    """Add a document and return the report; on a failure, record the error."""
    try:
        report = _add(base, document)
    except DocumentError as error:
        failures.append(error)
        return IngestReport()
    failures += [
        DocumentError(failure.message, source=document.id, code=failure.code)
        for failure in report.failed
    ]
    return report


def _add(base: KnowledgeBase, document: DatasetDocument) -> IngestReport:
    if document.text is not None:
        return base.add_text(document.text, document_id=document.id, title=document.title)
    if document.path is None:
        raise OptionError(f"the document {document.id!r} has neither a text nor a file; give one")
    given = {document.id: GivenParts(title=document.title)} if document.title else None
    with document.path.open("rb") as stream:  # `add` accepts an id only for a stream
        return base.add(stream, document_id=document.id, given=given)


def _outcome(report: IngestReport) -> Literal["added", "replaced", "unchanged", "failed"]:
    if report.added:
        return "added"
    if report.replaced:
        return "replaced"
    return "unchanged" if report.unchanged else "failed"
