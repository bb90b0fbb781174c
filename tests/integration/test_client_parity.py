"""One test module for a knowledge base on this machine and for the same one behind a server.

The server is used through the blocking and through the asynchronous client.
"""

from __future__ import annotations

import asyncio
import inspect
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.documents import build_pdf, build_zip
from tests.integration.test_figures import build_picture_docx
from tests.reports import REPORT
from tests.servers.applications import stop_queues
from tests.servers.blocking import Blocking
from tests.servers.capable import capable_answer
from tests.servers.running import running
from tests.servers.web_site import page, serving

import spanwise
from spanwise import (
    AnswerOptions,
    AsyncRemoteKnowledgeBase,
    ExcerptOptions,
    GivenChunk,
    GivenParts,
    IngestReport,
    KnowledgeBase,
    PublishedOptions,
    QueryOptions,
    RemoteKnowledgeBase,
    RerankOptions,
    SearchOptions,
    SegmentOptions,
    Usage,
    WrittenQueries,
    connect,
    connect_async,
    field,
)
from spanwise.answers.stored_threads import Threads
from spanwise.answers.stream import AnswerStream
from spanwise.cli.program import cli
from spanwise.client import arguments as client_arguments
from spanwise.client.asynchronous import (
    AsyncRemoteAnswerStream,
    AsyncRemoteJobs,
    AsyncRemotePacks,
    AsyncRemoteThreads,
)
from spanwise.client.remote import NOT_OFFERED_METHODS, RemoteJobs, RemotePacks, RemoteThreads
from spanwise.errors import (
    ConflictError,
    DocumentNotFoundError,
    FetchError,
    FilterError,
    OptionError,
    PackError,
    ParseError,
    QueryError,
    SpanwiseError,
    StoreError,
    ThreadNotFoundError,
)
from spanwise.packs.pack_manager import Packs
from spanwise.server.app import app_of
from spanwise.testing.models import ScriptedModel, ScriptedReranker
from spanwise.types import IngestProgress

REPORTS = Path(__file__).resolve().parents[2] / "examples" / "reports"
QUESTION = "Why did the gross margin fall in 2023?"
STRANGE = "a/../b c?#%41.md"
ANSWER_QUESTION = "Why did the margin fall in 2023?"
MODEL = ScriptedModel(capable_answer)
RERANKER = ScriptedReranker(lambda query, text: float("Ostrava" in text) + len(query) / 100)


@dataclass(frozen=True)
class Side:
    """One of the two knowledge bases, with the arguments that name its models."""

    kb: Any
    llm: dict[str, Any]
    rerank: dict[str, Any]


def fill(base: KnowledgeBase) -> None:
    """Add the reports as texts: they have no path, so that results can be equal."""
    for path in sorted(REPORTS.iterdir()):
        base.add_text(
            path.read_text(encoding="utf-8"),
            document_id=path.name,
            media_type="text/markdown" if path.suffix == ".md" else "text/plain",
            metadata={"kind": path.suffix, "tags": ["a", "b"], "year": 2023, "share": 0.5},
        )
    base.add_text("An odd name\u2028on two lines.", document_id=STRANGE)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    folder = tmp_path_factory.mktemp("scans")
    (folder / "a.pdf").write_bytes(build_pdf(["First page.", "Second page."]))
    (folder / "figures.docx").write_bytes(build_picture_docx("The harbour in the year 1900."))
    (folder / "gone.pdf").write_bytes(build_pdf(["Third page."]))
    with KnowledgeBase(":memory:") as opened:
        fill(opened)
        opened.add(*sorted(folder.iterdir()))
        (folder / "gone.pdf").unlink()
        yield opened


@pytest.fixture(scope="module")
def remote(base: KnowledgeBase) -> Iterator[RemoteKnowledgeBase]:
    app = app_of({"reports": base}, llm=MODEL, reranker=RERANKER)
    with running(app) as url, connect(url, knowledge_base="reports") as kb:
        yield kb


@pytest.fixture(scope="module")
def asynchronous(remote: RemoteKnowledgeBase) -> Iterator[Blocking]:
    with opened_asynchronously(remote._connection.session.url) as kb:
        yield kb


@contextmanager
def opened_asynchronously(url: str) -> Iterator[Blocking]:
    kb = connect_async(url)
    with asyncio.Runner() as runner:
        yield Blocking(kb, runner)
        runner.run(kb.close())


SIDES = ["library", "server", "asynchronous"]


@pytest.fixture(params=SIDES)
def side(
    request: pytest.FixtureRequest,
    base: KnowledgeBase,
    remote: RemoteKnowledgeBase,
    asynchronous: Blocking,
) -> Side:
    if request.param == "library":
        return Side(base, {"llm": MODEL}, {"rerank": RERANKER})
    return Side(remote if request.param == "server" else asynchronous, {}, {"rerank": True})


@contextmanager
def on_side(name: str, base: KnowledgeBase) -> Iterator[Side]:
    """Yield a knowledge base, or the same one behind a server."""
    if name == "library":
        yield Side(base, {"llm": MODEL}, {"rerank": RERANKER})
        return
    app = app_of({"reports": base}, llm=MODEL, reranker=RERANKER)
    with running(app) as url:
        try:
            opened = connect if name == "server" else opened_asynchronously
            with opened(url) as kb:
                yield Side(kb, {}, {"rerank": True})
        finally:
            stop_queues(app)


@pytest.fixture(params=SIDES)
def own(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Return a knowledge base that the test may change."""
    with KnowledgeBase(":memory:") as opened:
        fill(opened)
        with on_side(request.param, opened) as found:
            yield found.kb


@pytest.fixture(params=SIDES)
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Side]:
    """Return an empty knowledge base in a folder, which can take files and conversations."""
    with KnowledgeBase(tmp_path / "reports.kb") as opened, on_side(request.param, opened) as found:
        yield found


def timeless(result: Any) -> Any:
    """Return a result without times."""
    usage = replace(result.usage, seconds=0.0)
    return replace(result, seconds={}, usage=usage)


SEARCHES: list[dict[str, Any]] = [
    {},
    {"budget_tokens": 300, "preset": "precise"},
    {"preset": "comprehensive", "headers": False, "abstain": True, "deep": False},
    {"where": field("kind") == ".md", "documents": ["handbook.md", "annual-report-2022.md"]},
    {"where": {"tags": ["b"], "year": 2023}, "more_queries": ["energy", "pulp and freight"]},
    {"where": "kind = '.pdf'"},
    {"segment_options": SegmentOptions(token_price=0.1, segment_charge=0.2)},
    {"method": "greedy", "preset": "dsrag-precision"},
    {"method": "greedy", "segment_options": PublishedOptions(budget_chunks=4)},
    {"options": SearchOptions(budget_tokens=200, segments=SegmentOptions.PRECISE, deep=False)},
    {"spread": "documents", "max_documents": 2},
]


@pytest.mark.parametrize("arguments", SEARCHES, ids=range(len(SEARCHES)))
def test_search(side: Side, base: KnowledgeBase, arguments: dict[str, Any]) -> None:
    expected = base.search(QUESTION, **arguments)
    assert timeless(side.kb.search(QUESTION, **arguments)) == timeless(expected)


def test_search_with_a_reranker(side: Side, base: KnowledgeBase) -> None:
    more: dict[str, Any] = {"rerank_options": RerankOptions(chunks=5, weight=2.0)}
    expected = base.search(QUESTION, rerank=RERANKER, **more)
    found = side.kb.search(QUESTION, **side.rerank, **more)
    assert found.segments == expected.segments
    assert found.context == expected.context


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"excerpts": 1, "excerpt_tokens": 80, "where": "year = 2023"},
        {"options": ExcerptOptions(excerpts=2, excerpt_tokens=50), "more_queries": ["leave"]},
        {"spread": "documents", "documents": ["handbook.md"]},
    ],
    ids=range(4),
)
def test_excerpts(side: Side, base: KnowledgeBase, arguments: dict[str, Any]) -> None:
    expected = base.excerpts(QUESTION, **arguments)
    assert timeless(side.kb.excerpts(QUESTION, **arguments)) == timeless(expected)


def test_explain(side: Side, base: KnowledgeBase) -> None:
    arguments: dict[str, Any] = {
        "budget_tokens": 300,
        "preset": "precise",
        "more_queries": ["energy"],
    }
    expected = base.explain(QUESTION, **arguments)
    found = side.kb.explain(QUESTION, **arguments)
    assert timeless(found.result) == timeless(expected.result)
    assert replace(found, result=expected.result) == expected
    assert found.why(found.candidates[0]) == expected.why(expected.candidates[0])
    assert "<html" in found.to_html()


def test_ask(side: Side, base: KnowledgeBase) -> None:
    arguments: dict[str, Any] = {"preset": "precise", "budget_tokens": 2_000, "fresh": True}
    expected = base.ask(ANSWER_QUESTION, llm=MODEL, **arguments)
    answer = side.kb.ask(ANSWER_QUESTION, **side.llm, **arguments)
    assert "[1]" in answer.text
    assert timeless(answer) == timeless(expected)
    options = AnswerOptions(rounds=1, temperature=0.5, guidance="Be brief.")
    one = side.kb.ask(ANSWER_QUESTION, **side.llm, options=options, write_queries=False)
    assert one.rounds == 1


def test_ask_stream(side: Side, base: KnowledgeBase) -> None:
    expected = base.ask(ANSWER_QUESTION, llm=MODEL, fresh=True)
    stream = side.kb.ask_stream(ANSWER_QUESTION, **side.llm, fresh=True)
    pieces = list(stream)
    assert len(pieces) > 1
    assert "".join(pieces) == expected.text
    assert timeless(stream.answer) == timeless(expected)


def test_ask_each(side: Side, base: KnowledgeBase) -> None:
    arguments: dict[str, Any] = {"where": "kind = '.md'", "dry_run": True}
    expected = base.ask_each("Who may terminate?", llm=MODEL, **arguments)
    found = side.kb.ask_each("Who may terminate?", **side.llm, **arguments)
    assert found.usage.calls > 0
    assert timeless(found) == timeless(expected)
    reached: list[tuple[int, int]] = []
    side.kb.ask_each(
        "Who may terminate?",
        **side.llm,
        documents=["handbook.md", "annual-report-2022.md"],
        on_progress=lambda done, total: reached.append((done, total)),
    )
    assert reached[-1] == (2, 2)


def test_write_queries(side: Side, base: KnowledgeBase) -> None:
    arguments: dict[str, Any] = {"options": QueryOptions(queries=2), "where": "kind = '.md'"}
    expected = base.write_queries(ANSWER_QUESTION, llm=MODEL, **arguments)
    written = side.kb.write_queries(ANSWER_QUESTION, **side.llm, **arguments)
    assert written.more_queries
    assert timeless_queries(written) == timeless_queries(expected)
    found = side.kb.search(ANSWER_QUESTION, more_queries=written, where="kind = '.md'")
    other = base.search(ANSWER_QUESTION, more_queries=expected, where="kind = '.md'")
    assert timeless(found) == timeless(other)


def timeless_queries(written: WrittenQueries) -> WrittenQueries:
    return replace(written, usage=Usage())


def test_a_conversation(folder: Side) -> None:
    kb = folder.kb
    for path in sorted(REPORTS.glob("*.md")):
        kb.add_text(path.read_text(encoding="utf-8"), document_id=path.name)
    first = kb.ask(ANSWER_QUESTION, **folder.llm, thread="a/b")
    again = kb.ask("And in 2022?", **folder.llm, thread="a/b")
    (info,) = kb.threads.list()
    assert (info.id, info.turns) == ("a/b", 2)
    thread = kb.threads.get("a/b")
    assert [turn.answer.text for turn in thread.turns] == [first.text, again.text]
    written = kb.write_queries("And in 2021?", **folder.llm, history=thread.turns)
    assert written.question == "And in 2021?"
    assert kb.threads.remove("a/b") is True
    assert kb.threads.remove("a/b") is False
    with pytest.raises(ThreadNotFoundError):
        kb.threads.get("a/b")


def test_packs(folder: Side) -> None:
    kb = folder.kb
    kb.add_text(REPORT, document_id="report")
    names = [pack.name for pack in kb.packs.list() if pack.in_use]
    assert "filings" in names
    found = kb.packs.find("filings")
    assert {place.document_id for place in found} == {"report"}
    left = kb.packs.remove("filings")
    assert not next(pack for pack in left if pack.name == "filings").in_use
    with pytest.raises(PackError):
        kb.packs.remove("filings")
    used = kb.packs.use("filings")
    assert next(pack for pack in used if pack.name == "filings").documents == 1
    for name in ("no such pack", "/etc/passwd"):
        with pytest.raises(PackError):
            kb.packs.find(name)


def test_chunks_of_the_caller_are_added(own: Any) -> None:
    chunks = ["The pier is 30 m long.", GivenChunk(text="The bridge is 50 m long.", page=2)]
    with pytest.raises(OptionError):
        own.add_chunks("bad", ["The pier."], vectors=[[1.0, 2.0]])
    report = own.add_chunks("piers", chunks, title="Piers", metadata={"year": 1999})
    assert report.added == ("piers",)
    assert [chunk.text.strip() for chunk in own.chunks("piers")] == [
        "The pier is 30 m long.",
        "The bridge is 50 m long.",
    ]
    assert own.record("piers").title == "Piers"
    vectors = np.ones((1, 256), dtype=np.float32)
    assert own.add_chunks("vector", ["The lock."], vectors).kept_vectors == 1


def test_filter_warning(side: Side, base: KnowledgeBase) -> None:
    for where in (None, "kind = '.md'", "kind = '.mdd'", {"year": 1999}):
        assert side.kb.filter_warning(where) == base.filter_warning(where)
    with pytest.raises(FilterError):
        side.kb.filter_warning("colour = 'red'")


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Return a folder with documents, a subfolder, an archive, sidecar metadata and bad files."""
    root = tmp_path / "files"
    (root / "sub").mkdir(parents=True)
    (root / "pier.md").write_text("# Pier\n\nThe pier is 30 m long.")
    (root / "sub" / "bridge.md").write_text("# Bridge\n\nThe bridge is 50 m long.")
    (root / "sub" / "notes.txt").write_text("Notes on the lock.")
    (root / "box.zip").write_bytes(build_zip({"in.md": b"# Inside\n\nThe gate.", "b.txt": b"B b."}))
    (root / "empty.md").write_text("")
    (root / "spanwise.metadata.csv").write_text("path,title,year\npier.md,The pier,1999\n")
    return root


def outcome(report: IngestReport) -> dict[str, Any]:
    """Return what must be equal in the reports of a local and of a remote addition."""
    names = ("added", "replaced", "updated", "unchanged", "partial", "chunks", "chars")
    failed = [(Path(one.source).name, one.code) for one in report.failed]
    return {name: getattr(report, name) for name in names} | {"failed": sorted(failed)}


ADDITIONS: list[tuple[list[str], dict[str, Any]]] = [
    (["."], {}),
    (["."], {"prefix": "2023", "include": ["*.md"], "exclude": ["sub/", "*.zip"]}),
    (["sub", "pier.md", "no.pdf"], {"metadata": {"team": "ports", "since": date(2020, 1, 2)}}),
    (["box.zip"], {}),
]


@pytest.mark.parametrize(("names", "arguments"), ADDITIONS, ids=range(len(ADDITIONS)))
def test_files_are_added(
    folder: Side, files: Path, names: list[str], arguments: dict[str, Any]
) -> None:
    sources = [files / name for name in names]
    reached: list[IngestProgress] = []
    report = folder.kb.add(*sources, **arguments, on_document=reached.append)
    with KnowledgeBase(":memory:") as local:
        assert outcome(report) == outcome(local.add(*sources, **arguments))
        for record in local.list():
            other = folder.kb.record(record.id)
            assert (other.metadata, other.title) == (record.metadata, record.title)
            assert folder.kb.get(record.id).text == local.get(record.id).text
    assert reached[-1].documents_done == reached[-1].documents_total


def test_an_addition_is_repeated(folder: Side, files: Path) -> None:
    (files / "box.zip").unlink()
    folder.kb.add(files)
    again = folder.kb.add(files)
    assert sorted(again.unchanged) == ["pier.md", "sub/bridge.md", "sub/notes.txt"]
    changed = folder.kb.add(files / "pier.md", metadata={"team": "ports"}, replace=True)
    assert changed.updated == ("pier.md",)
    assert folder.kb.record("pier.md").metadata == {"year": 1999, "team": "ports"}
    (files / "pier.md").write_text("# Pier\n\nThe pier is 40 m long.")
    assert folder.kb.add(files, replace=True).replaced == ("pier.md",)
    assert len(folder.kb.list()) == 3


def test_a_stream_is_added(folder: Side) -> None:
    report = folder.kb.add(io.BytesIO(b"# Lock\n\nThe lock."), document_id="a b/lock.md")
    assert report.added == ("a b/lock.md",)
    with pytest.raises(OptionError):
        folder.kb.add(io.BytesIO(b"x"))
    with pytest.raises(OptionError):
        folder.kb.add()


def test_a_page_is_added(folder: Side) -> None:
    with serving({"/pier.html": page("The pier is 30 m long.")}) as site:
        url = f"{site.url}/pier.html"
        report = folder.kb.add(url)
        assert [failure.code for failure in report.failed] == ["refused"], "a private address"
    assert folder.kb.add("http://user:word@127.0.0.1/a").failed[0].code == "refused"


def test_a_closed_knowledge_base(folder: Side) -> None:
    folder.kb.list()
    folder.kb.close()
    for method, arguments in (("search", ["Why?"]), ("list", []), ("add_text", ["Text."])):
        more = {"document_id": "a"} if method == "add_text" else {}
        with pytest.raises(StoreError, match="closed"):
            getattr(folder.kb, method)(*arguments, **more)


def test_documents(side: Side, base: KnowledgeBase) -> None:
    ids = [record.id for record in base.list()]
    assert [record.id for record in side.kb.list()] == ids
    assert side.kb.list("kind = '.md'") == base.list("kind = '.md'")
    for name in ("handbook.md", STRANGE):
        assert side.kb.get(name) == base.get(name)
        assert side.kb.record(name) == base.record(name)
        assert side.kb.sections(name) == base.sections(name)
        assert side.kb.chunks(name) == base.chunks(name)
    info, expected = side.kb.info(), base.info()
    assert replace(info, path="", outputs=0, output_bytes=0) == replace(
        expected, path="", outputs=0, output_bytes=0
    )


def test_pages(side: Side, base: KnowledgeBase) -> None:
    for highlight in (None, "second", (12, 18)):
        options: dict[str, Any] = {"dots_per_inch": 30, "highlight": highlight}
        assert side.kb.page_image("a.pdf", 2, **options) == base.page_image("a.pdf", 2, **options)


def test_images_of_segments(side: Side, base: KnowledgeBase) -> None:
    (segment,) = base.search("second page", documents=["a.pdf"]).segments
    options: dict[str, Any] = {"dots_per_inch": 20, "highlight": True, "max_pages": 2}
    images = side.kb.segment_images(segment, **options)
    assert images
    assert images == base.segment_images(segment, **options)


def test_figures(side: Side, base: KnowledgeBase) -> None:
    figures = base.figures("figures.docx")
    assert figures
    assert side.kb.figures("figures.docx") == figures
    assert side.kb.figure_image("figures.docx", 0) == base.figure_image("figures.docx", 0)


def test_citations(side: Side, base: KnowledgeBase) -> None:
    cited = base.cite("handbook.md", 10, 60)
    assert side.kb.cite("handbook.md", 10, 60) == cited
    removed = replace(cited, document_id="no.md")
    for given in (cited, cited.to_dict(), base.search(QUESTION).segments[0], removed):
        assert side.kb.locate(given) == base.locate(given)


FAILURES: list[tuple[str, tuple[Any, ...], dict[str, Any], type[SpanwiseError]]] = [
    ("search", ("",), {}, QueryError),
    ("search", ("?!",), {}, QueryError),
    ("search", ("margin",), {"budget_tokens": 0}, OptionError),
    ("search", ("margin",), {"preset": "long"}, OptionError),
    ("search", ("margin",), {"method": "best"}, OptionError),
    ("search", ("margin",), {"spread": "wide"}, OptionError),
    ("search", ("margin",), {"where": "colour = 'red'"}, FilterError),
    ("search", ("margin",), {"where": "year >"}, FilterError),
    ("search", ("margin",), {"where": {"year": object()}}, FilterError),
    ("search", ("margin",), {"documents": ["no.md"]}, DocumentNotFoundError),
    ("search", ("margin",), {"documents": "no.md"}, OptionError),
    ("search", ("margin",), {"options": SearchOptions(), "budget_tokens": 1}, OptionError),
    ("excerpts", ("margin",), {"excerpts": 99}, OptionError),
    ("explain", ("margin",), {"spread": "documents"}, OptionError),
    ("list", ("colour = 'red'",), {}, FilterError),
    ("get", ("no.md",), {}, DocumentNotFoundError),
    ("get", ("..",), {}, DocumentNotFoundError),
    ("record", ("no/such?.md",), {}, DocumentNotFoundError),
    ("sections", ("no.md",), {}, DocumentNotFoundError),
    ("chunks", ("no.md",), {}, DocumentNotFoundError),
    ("page_image", ("handbook.md", 1), {}, ParseError),
    ("page_image", ("a.pdf", 9), {}, OptionError),
    ("page_image", ("a.pdf", 1), {"dots_per_inch": 5}, OptionError),
    ("page_image", ("a.pdf", 1), {"highlight": "absent"}, OptionError),
    ("page_image", ("gone.pdf", 1), {}, FetchError),
    ("cite", ("no.md", 0, 1), {}, DocumentNotFoundError),
    ("cite", ("handbook.md", 5, 5), {}, OptionError),
    ("locate", ({"title": "a"},), {}, OptionError),
    ("figures", ("no.md",), {}, DocumentNotFoundError),
    ("figure_image", ("handbook.md", 0), {}, OptionError),
    ("figure_image", ("figures.docx", 9), {}, OptionError),
    ("update_metadata", (["no.md"], {"a": 1}), {}, DocumentNotFoundError),
    ("update_metadata", (["handbook.md"], {}), {}, OptionError),
    ("update_metadata", ("handbook.md", {"a": 1}), {}, OptionError),
    ("update_metadata", (["handbook.md"], {"a": float("nan")}), {}, OptionError),
    ("add_text", ("",), {"document_id": "new.md"}, SpanwiseError),
    ("add_text", ("Text.",), {"document_id": " "}, OptionError),
    ("add_text", ("Text.",), {"document_id": "a.pdf"}, ConflictError),
    ("add_chunks", ("a", []), {}, OptionError),
    ("add_chunks", ("a", "text"), {}, OptionError),
    ("add_chunks", ("a.pdf", ["Text."]), {}, ConflictError),
    ("write_queries", ("?!",), {"llm": MODEL}, QueryError),
    ("write_queries", ("margin",), {"llm": MODEL, "documents": ["no.md"]}, DocumentNotFoundError),
    ("ask", ("margin",), {"llm": MODEL, "where": "colour = 'red'"}, FilterError),
    ("ask_each", ("margin",), {"llm": MODEL, "documents": ["no.md"]}, DocumentNotFoundError),
]


@pytest.mark.parametrize(
    ("method", "positional", "keywords", "kind"), FAILURES, ids=range(len(FAILURES))
)
def test_errors(
    side: Side,
    base: KnowledgeBase,
    method: str,
    positional: tuple[Any, ...],
    keywords: dict[str, Any],
    kind: type[SpanwiseError],
) -> None:
    with pytest.raises(kind) as expected:
        getattr(base, method)(*positional, **keywords)
    if "llm" in keywords:
        keywords = {name: value for name, value in keywords.items() if name != "llm"} | side.llm
    with pytest.raises(kind) as raised:
        getattr(side.kb, method)(*positional, **keywords)
    assert type(raised.value) is type(expected.value)
    assert getattr(raised.value, "code", "") == getattr(expected.value, "code", "")
    assert getattr(raised.value, "faults", ()) == getattr(expected.value, "faults", ())
    if kind not in (FetchError, ConflictError):  # the messages of the library name paths
        assert str(raised.value) == str(expected.value)


def test_an_unknown_argument(side: Side) -> None:
    with pytest.raises(TypeError, match="budget"):
        side.kb.search("margin", budget=3)


def test_texts_are_added(own: Any) -> None:
    added = own.add_text("# Pier\n\nThe pier is 30 m long.", document_id="x/y.md", title="Pier")
    assert (added.added, added.failed) == (("x/y.md",), ())
    again = own.add_text(
        "The pier is 40 m long.",
        document_id="x/y.md",
        metadata={"built": date(1999, 5, 1), "piles": [1, 2]},
        given=GivenParts(summary="About a pier."),
    )
    assert again.replaced == ("x/y.md",)
    record = own.record("x/y.md")
    assert record.metadata == {"built": "1999-05-01", "piles": (1, 2)}
    assert record.summary == "About a pier."
    assert own.get("x/y.md").text == "The pier is 40 m long."


def test_a_long_text_is_added(own: Any) -> None:
    text = "The pier is 40 m long, and the bridge is longer. " * 25_000
    assert own.add_text(text, document_id="long").chars == len(text)


def test_metadata_is_changed(own: Any) -> None:
    report = own.update_metadata(["handbook.md", STRANGE], {"team": "hr", "year": None})
    assert [one.document_id for one in report.changes] == ["handbook.md", STRANGE]
    assert report.changes[0].before == {"team": None, "year": 2023}
    assert own.record("handbook.md").metadata["team"] == "hr"
    dry = own.update_metadata({"team": "hr"}, {"since": date(2020, 1, 2)}, dry_run=True)
    assert [one.after for one in dry.changes] == [{"since": "2020-01-02"}] * 2
    assert "since" not in own.record("handbook.md").metadata
    whole = own.update_metadata({}, {"all": True})
    assert len(whole.changes) == len(own.list())
    own.update_metadata([STRANGE], {}, title="Odd")
    assert own.record(STRANGE).title == "Odd"


def test_documents_are_removed(own: Any) -> None:
    before = len(own.list())
    own.add_text("One.", document_id="box.zip!/one.txt")
    own.add_text("Two.", document_id="box.zip!/two.txt")
    removed = own.remove("no.md", STRANGE, "box.zip", STRANGE)
    assert removed == tuple(sorted(["box.zip!/one.txt", "box.zip!/two.txt", STRANGE]))
    assert len(own.list()) == before - 1
    assert own.remove() == ()


METHODS = {
    "search": client_arguments.SearchArguments,
    "explain": client_arguments.SearchArguments,
    "excerpts": client_arguments.ExcerptArguments,
    "ask": client_arguments.AskArguments,
    "ask_each": client_arguments.AskEachArguments,
    "write_queries": client_arguments.QueryArguments,
    "add": client_arguments.AddArguments,
}


@pytest.mark.parametrize("method", METHODS)
def test_the_client_has_every_argument_of_the_library(method: str) -> None:
    known = set(inspect.signature(getattr(KnowledgeBase, method)).parameters)
    own = set(METHODS[method].__annotations__)
    assert own <= known
    others = {"self", "question", "sources"}
    if method == "ask_each":
        others |= {"on_progress"}  # an argument of its own
    assert known - own - others <= set(client_arguments.NOT_OFFERED)


def public(kind: type) -> set[str]:
    return {name for name in dir(kind) if not name.startswith("_")}


@pytest.mark.parametrize(
    ("local", "client", "own"),
    [
        (KnowledgeBase, RemoteKnowledgeBase, {"jobs"}),
        (Threads, RemoteThreads, set()),
        (Packs, RemotePacks, set()),
    ],
)
def test_every_method_is_offered_or_refused(local: type, client: type, own: set[str]) -> None:
    refused = public(local) & NOT_OFFERED_METHODS.keys()
    assert public(client) - own == public(local) - refused


def test_every_refused_method_says_why(side: Side) -> None:
    if isinstance(side.kb, KnowledgeBase):
        return
    for name in NOT_OFFERED_METHODS:
        with pytest.raises(AttributeError, match="does not offer"):
            getattr(side.kb, name)
    with pytest.raises(AttributeError, match="no_such"):
        _ = side.kb.no_such


def test_a_refusal_names_a_command_that_exists() -> None:
    for reason in NOT_OFFERED_METHODS.values():
        named = reason.partition(": spanwise ")[2].split()
        assert not named or named[0] in cli.commands, reason


@pytest.mark.parametrize(
    ("asynchronous", "blocking"),
    [
        (AsyncRemoteKnowledgeBase, RemoteKnowledgeBase),
        (AsyncRemoteThreads, RemoteThreads),
        (AsyncRemotePacks, RemotePacks),
        (AsyncRemoteJobs, RemoteJobs),
        (AsyncRemoteAnswerStream, AnswerStream),
    ],
)
def test_every_method_has_an_asynchronous_one(asynchronous: type, blocking: type) -> None:
    assert public(asynchronous) == public(blocking)
    for name in public(blocking):
        if inspect.isfunction(method := getattr(blocking, name)) and name != "ask_stream":
            coroutine = getattr(asynchronous, name)
            assert inspect.signature(coroutine).parameters == inspect.signature(method).parameters
            assert inspect.iscoroutinefunction(coroutine)


def test_the_documentation_lists_every_method() -> None:
    docs = Path(__file__).resolve().parents[2] / "docs"
    page = (docs / "how-to" / "serve.md").read_text(encoding="utf-8")
    _, _, part = page.partition("## Use a server from Python")
    listed = set(re.findall(r"`([\w.]+)`", part.partition("\n## ")[0]))
    names = public(RemoteKnowledgeBase) | NOT_OFFERED_METHODS.keys() - {"adopt"}
    names |= {f"jobs.{name}" for name in public(RemoteJobs)}
    assert names <= listed | {"threads", "packs", "jobs"}


def test_several_knowledge_bases_are_searched_as_one(base: KnowledgeBase) -> None:
    with KnowledgeBase(":memory:") as other:
        other.add_text("Freight from Ostrava cost more in 2023.", document_id="note")
        expected = spanwise.search([base, other], QUESTION, budget_tokens=500)
        with (
            running(app_of({"reports": base, "notes": other})) as url,
            connect(url, knowledge_base=["reports", "notes"]) as both,
        ):
            found = both.search(QUESTION, budget_tokens=500)
            assert [one.text for one in found.segments] == [one.text for one in expected.segments]
            assert {one.knowledge_base for one in found.segments} <= {"reports", "notes"}
            with pytest.raises(OptionError, match="several"):
                both.list()
