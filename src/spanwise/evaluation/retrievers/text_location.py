"""Location of the texts of other retrievers in the documents.

Rules:
    A document is identified by its id, by a path that ends with its id, or by its file name if no
    other document has the same.
    A text is located at its stated range if the document has this text there. Otherwise its first
    occurrence counts, in the named document or else in the first document that holds it: character
    for character, then with other white space.
    A text that cannot be located counts its tokens and holds no evidence.
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
"""Document id of a text that is in no known document."""


def with_unplaced(texts: Mapping[str, DocumentText]) -> Mapping[str, DocumentText]:
    """Return texts by id, with an empty text for `UNPLACED`."""
    first = {UNPLACED: DocumentText(text="")}
    return ChainMap(first, cast("MutableMapping[str, DocumentText]", texts))


class Placer:
    """Locates texts in documents."""

    def __init__(self, texts: Mapping[str, DocumentText]) -> None:
        """Set the documents, by id."""
        self._texts = texts
        self._by_name: dict[str, list[str]] = defaultdict(list)
        for document_id in texts:
            self._by_name[PurePosixPath(document_id).name].append(document_id)

    def place(self, retrieval: Retrieval, *, documents: Sequence[str] | None) -> Retrieval:
        """Return a retrieval with ids and places of the documents.

        Args:
            retrieval: Results of a retriever.
            documents: Ids of the documents of the question; results from others are dropped. None
                for all.

        Raises:
            OptionError: If a result without a text names a document or place that does not exist.
        """
        placed = [self._placed(item) for item in retrieval.found]
        scope = None if documents is None else {*documents, UNPLACED}
        inside = [item for item in placed if scope is None or item.document_id in scope]
        lost = sum(item.start is None and item.pages is None for item in inside)
        warnings = list(retrieval.warnings)
        if lost:
            warnings.append(
                f"{lost} of {len(inside)} texts stand in no document as they were returned: they "
                "count their tokens and hold no evidence"
            )
        if len(inside) < len(placed):
            warnings.append(
                f"{len(placed) - len(inside)} of {len(placed)} texts are of documents that the "
                "question is not about: they were left out"
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
            if item.start is not None and self._stands_at(document_id, item):
                return replace(item, document_id=document_id, text=None)
        found = self._found(item.text, self._texts if document_id is None else (document_id,))
        if found is not None:
            return found
        if document_id is not None and item.start is not None:
            return replace(item, document_id=document_id, text=None)  # shown with a header, say
        return Retrieved(document_id=document_id or UNPLACED, text=item.text)

    def _document(self, named: str) -> str | None:
        """Return the id of a document; None if it is unknown."""
        if not named:
            return None
        if named in self._texts:
            return named
        path = named.replace("\\", "/")
        same_name = self._by_name.get(PurePosixPath(path).name, [])
        ends = [one for one in same_name if path.endswith(f"/{one}")]
        if ends:
            return max(ends, key=len)
        return same_name[0] if len(same_name) == 1 else None

    def _stands_at(self, document_id: str, item: Retrieved) -> bool:
        return self._texts[document_id].text[item.start : item.end] == item.text

    def _found(self, text: str, documents: Iterable[str]) -> Retrieved | None:
        """Return the first place of a text; None if it occurs nowhere."""
        wanted = text.strip()
        if not wanted:
            return None
        for document_id in documents:
            start = self._texts[document_id].text.find(wanted)
            if start >= 0:
                return Retrieved(document_id=document_id, start=start, end=start + len(wanted))
        pattern = re.compile(r"\s+".join(map(re.escape, wanted.split())))
        for document_id in documents:
            match = pattern.search(self._texts[document_id].text)
            if match is not None:
                return Retrieved(document_id=document_id, start=match.start(), end=match.end())
        return None
