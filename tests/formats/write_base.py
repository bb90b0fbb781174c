"""Write a small knowledge base with the package that is imported, and record what it holds.

`build.py` runs this program with earlier states of the package, so it uses only what all of them
have. `python write_base.py FOLDER` reads FOLDER/documents, and writes FOLDER/base.kb and
FOLDER/recorded.json.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from spanwise import ContextOptions, GivenParts, KnowledgeBase
from spanwise.testing.models import ScriptedModel
from spanwise.types import Section

QUESTIONS = (
    "When does the lease in Austin end?",
    "Why did margins fall?",
    "total revenue in 2018",
    "How does it feel in the hand?",
    "ships",
)
TRANSCRIPT = "A: The buttons are small.\n" * 8 + "B: The case is yellow.\n" * 8
MEMO = "# Memo\n\n## Freight\n\nFreight cost more.\n\n## Ships\n\nTwo ships were late.\n"
QUOTE = "The lease of the plant in Austin ends in May 2031."


def written_answer(schema: str) -> str:
    """Return an answer with a quote in the form of a schema, whose fields had other names once."""
    place = "source" if '"source"' in schema else "segment"
    statement = {"text": "The lease ends in May 2031.", "quotes": [{"quote": QUOTE, place: 1}]}
    fields: dict[str, object] = {
        "working": "The report says when.",
        "answered": True,
        "statements": [statement],
        "conflicts": [],
        "assumed": "",
        "missing": "",
    }
    if '"calculation"' in schema:
        statement["calculation"] = None  # type: ignore[assignment]
    return json.dumps({name: value for name, value in fields.items() if f'"{name}"' in schema})


ANSWERS: dict[str, dict[str, object]] = {
    "title": {"title": "Memo about freight"},
    "summary": {"summary": "This document is about: freight and ships."},
    "section summaries": {"summary": "This section is about: one of both."},
    "queries": {"standalone": "", "queries": [QUESTIONS[0]], "conditions": []},
}


def answer(request: Any) -> str:
    """Return the answer of a language model to a request."""
    if request.task in ANSWERS:
        return json.dumps(ANSWERS[request.task])
    if request.task == "chunk contexts":
        count = len(re.findall(r"^Chunk \d+:$", request.prompt, re.MULTILINE))
        contexts = [{"chunk": n, "context": f"Context {n}."} for n in range(1, count + 1)]
        return json.dumps({"contexts": contexts})
    if request.task == "answer":
        return written_answer(json.dumps(request.schema))
    return str(request.typical)


def fill(base: Any, documents: Path) -> None:
    """Write documents, outputs of models and a conversation."""
    model = ScriptedModel(answer)
    base.add(documents, metadata={"year": 2018, "team": "law"})
    given = GivenParts(
        summary="A team plans a gadget.",
        sections=(
            Section(start=0, end=208, title="Ergonomics", path=(), summary="How it feels."),
            Section(start=208, end=len(TRANSCRIPT), title="Colours", path=(), summary="Looks."),
        ),
    )
    base.add_text(TRANSCRIPT, document_id="talk", given=given)
    memo = documents.parent / "memo.md"
    memo.write_text(MEMO, encoding="utf-8")
    context = ContextOptions(headers=True, chunk_contexts=True)
    base.add(memo, llm=model, context=context)
    base.add_text("The first text.", document_id="replaced", metadata={"draft": True})
    base.add_text("The second text, of 2019.", document_id="replaced", replace=True)
    base.add_text("A text that is deleted.", document_id="deleted", metadata={"gone": "yes"})
    remove = base.remove if hasattr(base, "remove") else base.delete
    remove("deleted")
    base.ask(QUESTIONS[0], llm=model, thread="talk")


def held(base: Any) -> dict[str, Any]:
    """Return the documents and conversations of a knowledge base."""
    documents = {}
    for record in base.list():
        documents[record.id] = {
            "title": record.title,
            "summary": record.summary,
            "metadata": dict(record.metadata),
            "pages": record.pages,
            "sections": [[s.start, s.end, s.title, s.summary] for s in base.sections(record.id)],
            "chunks": [[c.start, c.end, c.context] for c in base.chunks(record.id)],
            "text": base.get(record.id).text,
        }
    threads = getattr(base.threads, "list", base.threads)()
    return {
        "documents": documents,
        "threads": [[info.id, info.title, info.turns] for info in threads],
    }


def recorded(base: Any) -> dict[str, Any]:
    """Return what the knowledge base holds, and what it answers."""
    segments = {
        question: [[s.document_id, s.start, s.end] for s in base.search(question).segments]
        for question in QUESTIONS
    }
    parts = held(base)
    return {"documents": parts["documents"], "segments": segments, "threads": parts["threads"]}


def main() -> None:
    """Run the program."""
    folder = Path(sys.argv[1])
    with KnowledgeBase(folder / "base.kb", packs=["filings"]) as base:
        fill(base, folder / "documents")
    with KnowledgeBase(folder / "base.kb") as base:
        data = json.dumps(recorded(base), ensure_ascii=False, indent=1)
    (folder / "recorded.json").write_text(data + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
