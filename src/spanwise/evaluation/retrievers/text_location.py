"""Location of texts from external retrievers in the documents.

Rules:
    A document is identified by its id, by a path that ends with its id, or by its file name if the
    name is unique.
    A text is located at its stated range if the document has the same text there. Otherwise its
    first occurrence is used: in the named document, or in the first document that contains it.
    Differences in white space are ignored if there is no exact occurrence.
    A text that cannot be located counts towards the token budget and matches no evidence.
"""

from __future__ import annotations

import re
from collections import ChainMap, defaultdict
from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import cast

from spanwise.errors import OptionError
from spanwise.evaluation.dataset import DocumentText
from spanwise.evaluation.retrieval import Retrieval, Retrieved

UNPLACED = ""
"""Document id of a text that could not be located."""


def with_unplaced(texts: Mapping[str, DocumentText]) -> Mapping[str, DocumentText]:
    """Return document texts by id, with an empty text added for `UNPLACED`."""
    first = {UNPLACED: DocumentText(text="")}
    return ChainMap(first, cast("MutableMapping[str, DocumentText]", texts))


class Placer:
    """Locator of texts in documents."""

    def __init__(self, texts: Mapping[str, DocumentText]) -> None:
        """Set the document texts, by id."""
        self._texts = texts
        self._by_name: dict[str, list[str]] = defaultdict(list)
        for document_id in texts:
            self._by_name[PurePosixPath(document_id).name].append(document_id)

    def place(self, retrieval: Retrieval, *, documents: Sequence[str] | None) -> Retrieval:
        """Return a retrieval with located texts.

        Args:
            retrieval: Results of a retriever.
            documents: Ids of the documents in scope; results from others are dropped. None for all.

        Raises:
            OptionError: If a result without a text names an unknown document.
        """
        placed = [self._placed(item) for item in retrieval.found]
        scope = None if documents is None else {*documents, UNPLACED}
        inside = [item for item in placed if scope is None or item.document_id in scope]
        lost = sum(item.start is None and item.pages is None for item in inside)
        warnings = list(retrieval.warnings)
        if lost:
            warnings.append(
                f"{lost} of {len(inside)} returned texts occur in no document; they count towards "
                "the budget and match no evidence"
            )
        if len(inside) < len(placed):
            warnings.append(
                f"{len(placed) - len(inside)} of {len(placed)} texts are from documents outside "
                "the scope of the question and were dropped"
            )
        return replace(retrieval, found=tuple(inside), warnings=tuple(warnings))

    def _placed(self, item: Retrieved) -> Retrieved:
        document_id = self._document(item.document_id)
        if item.text is None:
            if document_id is None:
                raise OptionError(
                    f"a retriever returned a place in {item.document_id!r}, and no document has "
                    "that id; return ids of the knowledge base, or the text"
                )
            return replace(item, document_id=document_id)
        if document_id is not None:
            if item.pages is not None:
                return replace(item, document_id=document_id)
            document = self._texts[document_id].text
            if item.start is not None and document[item.start : item.end] == item.text:
                return replace(item, document_id=document_id, text=None)
        occurrence = self._find(item.text, self._texts if document_id is None else (document_id,))
        if occurrence is not None:
            return occurrence
        if document_id is not None and item.start is not None:
            # The text may differ because of a header; the stated range is used.
            return replace(item, document_id=document_id, text=None)
        return Retrieved(document_id=document_id or UNPLACED, text=item.text)

    def _document(self, name: str) -> str | None:
        """Return the id of the document that an id, path or file name denotes; None if unknown."""
        if not name:
            return None
        if name in self._texts:
            return name
        path = name.replace("\\", "/")
        same_name = self._by_name.get(PurePosixPath(path).name, [])
        ends = [one for one in same_name if path.endswith(f"/{one}")]
        if ends:
            return max(ends, key=len)
        return same_name[0] if len(same_name) == 1 else None

    def _find(self, text: str, documents: Iterable[str]) -> Retrieved | None:
        """Return the first occurrence of a text; None if there is none."""
        stripped = text.strip()
        if not stripped:
            return None
        for document_id in documents:
            start = self._texts[document_id].text.find(stripped)
            if start >= 0:
                return Retrieved(document_id=document_id, start=start, end=start + len(stripped))
        pattern = re.compile(r"\s+".join(map(re.escape, stripped.split())))
        for document_id in documents:
            match = pattern.search(self._texts[document_id].text)
            if match is not None:
                return Retrieved(document_id=document_id, start=match.start(), end=match.end())
        return None
