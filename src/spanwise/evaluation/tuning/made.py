"""Questions out of the documents, without a model: a heading asks for its section.

They are made of the documents' own words, so that they are easier than questions of people, and
favour what matches words. They serve to give an embedder or a reranker its place where nobody has
labelled questions yet; labelled ones say more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from spanwise.core.question import read_question
from spanwise.evaluation.dataset import Evidence, LabelledQuestion

if TYPE_CHECKING:
    from spanwise.knowledge_base import KnowledgeBase

__all__ = ["made_questions"]

_LEAST_TERMS = 3
_LEAST_CHARS, _MOST_CHARS = 200, 6_000


def made_questions(base: KnowledgeBase, *, most: int = 200) -> tuple[LabelledQuestion, ...]:
    """Return questions out of the documents: titles of sections, with their text as evidence.

    Titles that stand over several sections, or hold fewer than three terms, ask for no place. The
    line of the title itself is no evidence.

    Args:
        base: The documents.
        most: At most so many, evenly spread over all sections; at least 1.
    """
    found = list(_titled(base))
    counts = Counter(one.text.casefold() for one in found)
    unique = [one for one in found if counts[one.text.casefold()] == 1]
    if len(unique) <= most:
        return tuple(unique)
    return tuple(unique[at * len(unique) // most] for at in range(most))


def _titled(base: KnowledgeBase) -> Iterator[LabelledQuestion]:
    """Yield a question for each section whose title asks for something."""
    for record in base.list():
        text = base.get(record.id).text
        for number, section in enumerate(base.sections(record.id)):
            start = section.start
            body = text[start : section.end]
            heading = body.find(section.title)
            if 0 <= heading <= len(section.title):  # it opens the section
                start += heading + len(section.title)
            if not _LEAST_CHARS <= section.end - start <= _MOST_CHARS:
                continue
            if len(read_question(section.title, languages=[record.language]).terms) < _LEAST_TERMS:
                continue
            yield LabelledQuestion(
                id=f"{record.id}:{number}",
                text=section.title,
                evidence=(Evidence(document_id=record.id, start=start, end=section.end),),
            )
