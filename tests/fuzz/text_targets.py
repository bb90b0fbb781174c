"""Targets of texts: filters, sections of a model, settings, packs, questions, texts to add."""

from __future__ import annotations

import io
import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.fuzz.target import BETWEEN, JSON_VALUES, Target, check
from tests.rebuilds import HashEmbedder

from spanwise import KnowledgeBase
from spanwise.config import read_settings
from spanwise.core.text.languages import document_language
from spanwise.errors import FilterError, ModelError, OptionError, PackError, SpanwiseError
from spanwise.evaluation.datasets.question_reader import read_questions
from spanwise.evaluation.results import read_evaluation
from spanwise.filters import matches, parse_filter, read_filter
from spanwise.ingest.sidecar import read_sidecars
from spanwise.ingest.sources import find_sources
from spanwise.models.caller import ModelCaller
from spanwise.models.ports import ModelRequest
from spanwise.models.prompts.prompt_context import PromptContext
from spanwise.models.prompts.sections import make_sections
from spanwise.options import ContextOptions, SectionOptions
from spanwise.packs.known_kinds import document_headings, document_title, split_sections
from spanwise.packs.landmarks import landmark_signals
from spanwise.packs.pack_file import read_pack
from spanwise.parsers.process.protocol import decode_parsed, read_frame
from spanwise.testing.models import ScriptedModel
from spanwise.types import Document

__all__ = ["text_targets"]


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass" if b"\xed" in data else "replace")


@contextmanager
def _file(name: str, data: bytes) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        path = Path(folder, name)
        path.write_bytes(data)
        yield path


_RECORDS: Sequence[Mapping[str, Any]] = (
    {"year": 1910, "company": "Norvik", "tags": ("a", "b"), "date": "2018-03-01", "is_new": True},
    {"year": 2018.5, "company": "3M", "date": "2018"},
    {},
)


def _read_filter(data: bytes) -> None:
    """Parse a filter, as text or mapping; its canonical text must give an equal filter."""
    try:
        text = _text(data)
    except UnicodeDecodeError:
        return
    if text.startswith("{"):
        try:
            mapping = json.loads(text)
        except (ValueError, RecursionError):
            return
        read_filter(mapping)
        return
    where = parse_filter(text)
    check(parse_filter(str(where)) == where, f"{where} is read as another filter")
    for record in _RECORDS:
        matches(where, record)


def _filters() -> list[bytes]:
    return [
        b'year >= 2018 and company in ("3M", "Apple")',
        b'not (date = 2018-03 or tags exists) and company contains "a" and is_new = true',
        b"year = 1.5e3 or company != 'x' and year not in (1, 2)",
        b'{"year": 1910, "company": ["3M", true, 5]}',
    ]


def _count(texts: Sequence[str]) -> list[int]:
    return [20 * len(text) for text in texts]  # short texts have several windows


def _make_sections(data: bytes) -> None:
    """Divide a text by the answers of a model: text and answers are parts of the input."""
    first, *replies = data.split(BETWEEN)
    document = Document(id="a", text=first.decode("utf-8", "replace"))
    if not document.text or not replies:
        return
    answers = [reply.decode("utf-8", "replace") for reply in replies]
    asked = iter(range(10_000))

    def answer(_: ModelRequest) -> str:
        reply = answers[next(asked) % len(answers)]
        if reply == "FAIL":
            raise ModelError("it is down", provider="scripted", model="model")
        return reply

    limits = SectionOptions(min_chars=20, max_chars=200)
    made = make_sections(
        document,
        title=document_title(document),
        headings=document_headings(document),
        context=PromptContext(
            caller=ModelCaller(model=ScriptedModel(answer, concurrency=1)),
            options=ContextOptions(window_tokens=1_000),
            language=document_language(document.text, metadata={}),
            count_tokens=_count,
        ),
        limits=limits,
        fallback=split_sections(document, options=limits),
    )
    whole = "".join(document.text[part.start : part.end] for part in made.sections)
    check(whole == document.text, "the sections do not partition the text")
    for section in made.sections:
        check(section.end > section.start, "an empty section")
        check(len(section.title) <= 120, "a long title")
        check(len(section.title.splitlines()) <= 1, "a title of several lines")


def _model_answers() -> list[bytes]:
    text = (
        b"# Pier\n\nThe pier is long.\n\n## Dues\n\nDues are 5.\nAnn: yes\nBob: no\n\nIt rained.\n"
        * 2
    )
    named = [{"first_line": 1, "title": "Pier"}, {"first_line": 4, "title": "[4] Dues: x"}]
    good = json.dumps({"sections": named}).encode()
    return [
        BETWEEN.join([text, good]),
        BETWEEN.join([text, good, b"FAIL", b'{"sections": [{"first_line": -1, "title": ""}]}']),
    ]


def _read_pack(data: bytes) -> None:
    pack = read_pack(_text(data.replace(b"\xed", b"")), place="a.toml")
    landmark_signals(pack, ["Pier\n\nThe pier is long; dues were 5.\n", "Note 3. Dues\n"])


_PACK = b"""name = "piers"
description = "Piers."
language = "en"
throughout = ["pier"]
nouns = ["dues"]

[landmarks.dues]
name = "dues"
titles = ["Dues", "Statement of dues"]
items = ["dues", "tonnage"]
numbers = true

[intents.dues]
names = ["dues"]
words = ["fee"]

[glossary]
toll = ["dues"]
"""


def _read_settings(data: bytes) -> None:
    with _file("settings.toml", data) as path:
        before = os.environ.get("SPANWISE_CONFIG")
        os.environ["SPANWISE_CONFIG"] = str(path)
        try:
            read_settings()
        finally:
            if before is None:
                del os.environ["SPANWISE_CONFIG"]
            else:
                os.environ["SPANWISE_CONFIG"] = before


_SETTINGS = b"""kb = "reports.kb"

[add]
include = ["*.pdf"]
packs = ["filings", "~/own.toml"]

[search]
preset = "balanced"
budget = 4_000

[llm]
model = "openai:gpt-5"
"""


def _read_questions(data: bytes) -> None:
    with _file("questions.jsonl", data) as path:
        read_questions(path)


_QUESTIONS = (
    b'{"id": "1", "question": "How long?", "evidence": [{"document_id": "a", "text": "30 m"}]}\n'
    b'{"id": "2", "question": "When?", "answer": "1911", "documents": ["a"], "metadata": {"k": 1}, '
    b'"evidence": [{"document_id": "a", "start": 1, "end": 5, "page": 2}]}\n'
)


def _read_results(data: bytes) -> None:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return
    read_evaluation(value)


_RESULTS = json.dumps(
    {
        "format": "spanwise-evaluation-1",
        "tokenizer": "o200k_base",
        "settings": {"a": 1},
        "notes": ["x"],
        "questions": {"d": [{"id": "1", "text": "How long?"}]},
        "scores": [
            {
                "dataset": "d",
                "question": "1",
                "retriever": "r",
                "budget_tokens": 5,
                "metrics": {"recall": 0.5},
                "seconds": 0.1,
                "found": [],
            }
        ],
    }
).encode()


def _read_sidecar(data: bytes) -> None:
    """Read a sidecar file; one that begins with "{" has JSON lines, others are CSV."""
    name = "spanwise.metadata.jsonl" if data.startswith(b"{") else "spanwise.metadata.csv"
    with _file(name, data) as path:
        (path.parent / "a.txt").write_text("The pier.")
        found = list(find_sources([path.parent]))
        read = read_sidecars(found)
        for source in found:
            if not isinstance(source, Exception):
                read.row(source)


def _read_answer(data: bytes) -> None:
    """Read the answer of a parsing process that a document took over: a frame, then its parts."""
    frame = read_frame(io.BytesIO(data), max_bytes=1 << 20)
    if frame is None:
        return
    header, payload = frame
    decode_parsed(header, payload.decode("utf-8"))


def _ingest(data: bytes) -> None:
    """Add a text and search it: sections, chunks and terms of text that no parser wrote."""
    text = data.decode("utf-8", "replace")
    with KnowledgeBase(":memory:", embedder=HashEmbedder()) as base:
        base.add_text(text, document_id="a", media_type="text/markdown")
        check(base.get("a").text == text, "the text was changed")
        chunks = base.chunks("a")
        check("".join(chunk.text for chunk in chunks) == text, "the chunks are not the text")
        base.search(text[:60].strip() or "pier")


def _texts() -> list[bytes]:
    return [
        b"# Pier\n\nThe pier is 30 m long.\n\n| Year | Dues |\n|---|---|\n| 1910 | 5 |\n\n"
        b"1. one\n2. two\n",
        "ARTICLE I\nDefinitions\n\n1.1 \u201cPier\u201d means \u00e4. Section 2(a)(i) applies.\n"
        "\u7b2c\u4e00\u7ae0 \u6e2f\u53e3\u3002\n"
        "\u0627\u0644\u0645\u064a\u0646\u0627\u0621\n".encode(),
    ]


def text_targets() -> list[Target]:
    """Return the targets."""
    toml = (b'"""', b"'''", b"[[a]]", b"= {", b"\\u0000", b"nan", b"1e400", b"1979-05-27")
    words = (b" and ", b" or ", b"not ", b" in (", b" exists", b" contains ", b" = ", b"2018-03")
    return [
        Target(
            name="filter", run=_read_filter, seeds=_filters, allowed=(FilterError,), tokens=words
        ),
        Target(
            name="sections",
            run=_make_sections,
            seeds=_model_answers,
            allowed=(),
            tokens=(BETWEEN, b"FAIL", b'{"first_line": 2, "title": "a"}', *JSON_VALUES),
        ),
        Target(
            name="ingest",
            run=_ingest,
            seeds=_texts,
            tokens=(b"\n\n", b"# ", b"| a |", b"1.1 ", b"ARTICLE ", b"(a)", b": ", b"\t"),
        ),
        Target(
            name="pack", run=_read_pack, seeds=lambda: [_PACK], allowed=(PackError,), tokens=toml
        ),
        Target(
            name="settings",
            run=_read_settings,
            seeds=lambda: [_SETTINGS],
            allowed=(OptionError,),
            tokens=toml,
        ),
        *(
            Target(name=name, run=run, seeds=seeds, allowed=(OptionError,), tokens=JSON_VALUES)
            for name, run, seeds in (
                ("questions", _read_questions, lambda: [_QUESTIONS]),
                ("results", _read_results, lambda: [_RESULTS]),
            )
        ),
        Target(
            name="sidecar",
            run=_read_sidecar,
            seeds=lambda: [
                b"path;title;year\na.txt;Pier;1910\n",
                b'{"path": "a.txt", "title": "Pier", "tags": ["a"]}\n',
            ],
            allowed=(),
            tokens=JSON_VALUES,
        ),
        Target(
            name="answer-frame",
            run=_read_answer,
            seeds=_frames,
            allowed=(ValueError, SpanwiseError),
            tokens=JSON_VALUES,
        ),
    ]


def _frames() -> list[bytes]:
    from spanwise.parsers.parsed import Parsed
    from spanwise.parsers.process.protocol import encode_parsed, write_frame
    from spanwise.types import Block, Heading, Page

    parsed = Parsed(
        text="Pier\nLong.",
        media_type="text/plain",
        pages=(Page(start=0, end=10),),
        headings=(Heading(start=0, end=4, level=1, title="Pier"),),
        blocks=(Block(start=5, end=10, kind="code"),),
        metadata={"year": 1910},
    )
    stream = io.BytesIO()
    write_frame(stream, header=encode_parsed(parsed, content_hash="ab"), payload=b"Pier\nLong.")
    return [stream.getvalue()]
