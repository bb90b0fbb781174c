"""Searches, excerpts, answers and citations over several knowledge bases."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.integration.commands import read_json, spanwise
from tests.scripted_answers import LETTER, QUESTION, REPORT, answer_of, model_of, statement

from spanwise import (
    KnowledgeBase,
    SearchOptions,
    SegmentOptions,
    ask,
    excerpts,
    explain,
    locate,
    search,
)
from spanwise.errors import (
    DocumentNotFoundError,
    EmbedderMismatchError,
    FilterError,
    OptionError,
    StoreChangedError,
)
from spanwise.knowledge_base.components import DEEP_VARIABLE
from spanwise.knowledge_base.internals import store_of
from spanwise.knowledge_base.several import KnowledgeBases
from spanwise.models.providers.tokenizer import make_tokenizer
from spanwise.search.shipped_model import shipped_model
from spanwise.search.tuned_options import Measured, Tuning, tuning_text
from spanwise.stores.memory import MemorySnapshot, MemoryStore
from spanwise.testing.models import ScriptedReranker
from spanwise.types import SearchResult

_LEASES = [
    f"# Lease {number}\n\nThe tenant of house {number} pays {number * 100} in rent.\n\n"
    f"Repairs of the roof of house {number} are paid by the landlord."
    for number in range(1, 9)
]


def texts_of(result: SearchResult) -> list[tuple[str, str]]:
    """Return the place and the text of each segment, and its relevance in text form."""
    return [(f"{s.document_id} {s.start} {s.relevance!r}", s.text) for s in result.segments]


def opened(path: Path, name: str, texts: dict[str, str], **options: Any) -> KnowledgeBase:
    """Return a knowledge base in a folder, with texts by id."""
    base = KnowledgeBase(path / name, **options)
    for document_id, text in texts.items():
        base.add_text(text, document_id=document_id, media_type="text/markdown")
    return base


@pytest.fixture
def two(tmp_path: Path) -> Iterator[list[KnowledgeBase]]:
    """Return a knowledge base with a report and one with a letter, both of the same id."""
    with (
        opened(tmp_path, "reports.kb", {"2018.md": REPORT}) as reports,
        opened(tmp_path, "letters.kb", {"2018.md": LETTER}) as letters,
    ):
        yield [reports, letters]


@pytest.mark.parametrize("deep", [False, True])
def test_folders_give_what_one_folder_gives_after_changes(
    tmp_path: Path, deep: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(DEEP_VARIABLE, raising=False)
    ids = [f"lease-{number}" for number in range(8)]
    by_id = dict(zip(ids, _LEASES, strict=True))
    first, second = dict(list(by_id.items())[:5]), dict(list(by_id.items())[5:])
    with (
        opened(tmp_path, "a", first) as a,
        opened(tmp_path, "b", second) as b,
        opened(tmp_path, "all", by_id) as merged,
    ):
        for base in (a, b, merged):
            base.compact()
        a.remove("lease-2")
        merged.remove("lease-2")
        for base in (b, merged):
            base.add_text("# New\n\nThe rent of house 99 is low.", document_id="lease-6")
        reranker = ScriptedReranker(score=lambda _, text: len(text) / 1_000)
        for question, more in (
            ("Who pays for the roof?", {}),
            ("rent of house 99", {"documents": ["lease-6", "lease-1"]}),
            ("Which leases mention repairs?", {}),
            ("rent", {"more_queries": ["roof repairs"], "rerank": reranker}),
        ):
            options = SearchOptions(headers=False, deep=deep, deep_seconds=60)
            arguments: dict[str, Any] = {"options": options, **more}
            found = search([a, b], question, **arguments)
            expected = merged.search(question, **arguments)
            assert texts_of(found) == texts_of(expected)
            assert found.warnings == expected.warnings
            assert (found.deep_chunks > 0) == (deep and expected.documents is None)


def test_segments_of_equal_ids_name_their_knowledge_base(two: list[KnowledgeBase]) -> None:
    result = search(two, QUESTION)
    found = {segment.knowledge_base: segment for segment in result.segments}
    assert found.keys() == {"reports.kb", "letters.kb"}
    for base in two:
        name = Path(base.info().path).name
        segment = found[name]
        assert base.get("2018.md").text[segment.start : segment.end] == segment.text
        assert segment.citation.knowledge_base == name
        assert str(segment.citation).startswith(f"{name}: ")
        assert f'knowledge_base="{name}" document="2018.md"' in result.context
    used = make_tokenizer("o200k_base").count([result.context])[0]
    assert used <= result.tokens <= result.budget_tokens
    assert two[0].search(QUESTION).segments[0].knowledge_base == ""
    assert "knowledge_base=" not in two[0].search(QUESTION).context


def test_excerpts_name_their_knowledge_base(two: list[KnowledgeBase]) -> None:
    result = excerpts(two, QUESTION, excerpt_tokens=200)
    assert {excerpt.knowledge_base for excerpt in result.excerpts} == {"reports.kb", "letters.kb"}
    for excerpt in result.excerpts:
        assert f'knowledge_base="{excerpt.knowledge_base}"' in result.context
        assert {span.citation.knowledge_base for span in excerpt.spans} == {excerpt.knowledge_base}


def test_an_answer_cites_and_locates_in_the_right_knowledge_base(two: list[KnowledgeBase]) -> None:
    sources = [s.knowledge_base for s in search(two, QUESTION).segments]
    quotes = {"reports.kb": "Capital spending was $1,577 million", "letters.kb": "$1,612 million"}
    model = model_of(
        answer_of(
            statement("It was 1,577.", (sources.index("reports.kb") + 1, quotes["reports.kb"])),
            statement("It was 1,612.", (sources.index("letters.kb") + 1, quotes["letters.kb"])),
        )
    )
    answer = ask(two, QUESTION, llm=model, write_queries=False)
    cited = [citation.citation for citation in answer.citations]
    assert [one.knowledge_base for one in cited if one] == ["reports.kb", "letters.kb"]
    for one in cited:
        assert one is not None
        location = locate(two, one)
        assert (location.status, location.citation) == ("current", one)
    two[1].remove("2018.md")
    assert [locate(two, one).status for one in cited if one] == ["current", "removed"]
    plain = json.loads(json.dumps([one.to_dict() for one in cited if one]))
    assert locate(two, plain[0]).status == "current"
    with pytest.raises(OptionError, match=r"letters\.kb"):
        locate(two[:1], plain[1])


def test_a_conversation_needs_one_knowledge_base(two: list[KnowledgeBase]) -> None:
    with pytest.raises(OptionError, match="thread"):
        ask(two, QUESTION, llm=model_of(answer_of()), thread="t")


def test_a_field_of_one_knowledge_base_is_known_and_one_of_none_is_not(tmp_path: Path) -> None:
    with KnowledgeBase(tmp_path / "a") as a, KnowledgeBase(tmp_path / "b") as b:
        a.add_text("The rent is low.", document_id="x", metadata={"year": 2018})
        b.add_text("The rent is high.", document_id="y")
        b.add_text("The rent is fair.", document_id="z", metadata={"year": "late"})
        assert {s.document_id for s in search([a, b], "rent", where="year = 2018").segments} == {
            "x"
        }
        found = search([a, b], "rent", where="not year = 2018").segments
        assert {s.document_id for s in found} == {"y", "z"}
        with pytest.raises(FilterError, match="unknown"):
            search([a, b], "rent", where="unknown = 1")
        with pytest.raises(DocumentNotFoundError, match="nowhere"):
            search([a, b], "rent", documents=["x", "nowhere"])


class _Embedder:
    """Embedder of random vectors."""

    is_local = True
    dimension = 8
    version = "1"

    def __init__(self, name: str) -> None:
        self.name = name

    def embed(self, texts: list[str]) -> np.ndarray:
        return np.ones((len(texts), self.dimension), dtype=np.float32)


@pytest.mark.parametrize(
    ("options", "error", "named"),
    [
        ({"embedder": _Embedder("other")}, EmbedderMismatchError, "other"),
        ({"embedder": None}, EmbedderMismatchError, "none"),
        ({"tokenizer": "chars:4"}, OptionError, "chars:4"),
    ],
)
def test_what_cannot_be_compared_is_an_error_that_names_it(
    options: dict[str, Any], error: type[Exception], named: str, tmp_path: Path
) -> None:
    texts = {"x": "The rent is low."}
    with opened(tmp_path, "a.kb", texts) as a, opened(tmp_path, "b.kb", texts, **options) as b:
        with pytest.raises(error, match=named) as raised:
            search([a, b], "rent")
        assert "a.kb" in str(raised.value)
        assert "b.kb" in str(raised.value)


def test_one_given_twice_and_none_given_are_errors(
    two: list[KnowledgeBase], tmp_path: Path
) -> None:
    for given in ([], [two[0], two[0]], ["reports.kb"]):
        with pytest.raises(OptionError):
            search(given, "rent")  # type: ignore[arg-type]
    for wrong in ([two[0], None], two[0], None):
        with pytest.raises(OptionError, match=r"None|KnowledgeBase"):
            search(wrong, "rent")  # type: ignore[arg-type]
    with KnowledgeBase(tmp_path / "reports.kb") as again, pytest.raises(OptionError, match="twice"):
        search([two[0], again], "rent")


def test_folders_of_equal_names_are_named_by_their_paths(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    with (
        opened(tmp_path / "one", "a.kb", {"x": "The rent is low."}) as a,
        opened(tmp_path / "two", "a.kb", {"x": "The rent is high."}) as b,
    ):
        names = [segment.knowledge_base for segment in search([a, b], "rent").segments]
        assert sorted(names) == [str(tmp_path / "one/a.kb"), str(tmp_path / "two/a.kb")]


def test_packs_of_all_knowledge_bases_are_used(tmp_path: Path) -> None:
    """A pack with the same name and another content is an error; a pack of one is used."""
    lease = {"x": "The tenant pays rent."}
    with (
        opened(tmp_path, "a", lease, packs=["contracts"]) as a,
        opened(tmp_path, "b", lease, packs=[]) as b,
        opened(tmp_path, "c", lease, packs=["contracts"]) as c,
    ):
        assert len(search([a, b], "Who pays rent?").segments) > 0
        text = json.loads(store_of(c).ensure_settings({})["packs"])[0]["text"]
        file = tmp_path / "contracts.toml"
        file.write_text(text + "\n# changed\n", encoding="utf-8")
        c.packs.use(file)
        with pytest.raises(OptionError, match="contracts"):
            search([a, c], "Who pays rent?")


def test_a_tuning_is_used_and_must_be_the_same(tmp_path: Path) -> None:
    tuning = Tuning(
        model=shipped_model(),
        segments=SegmentOptions(segment_charge=0.9),
        embedder="none",
        measured=Measured(questions=40, source="labelled", is_shown=False, figures=()),
    )
    file = tmp_path / "tuned.toml"
    file.write_text(tuning_text(tuning), encoding="utf-8")
    texts = {f"lease-{number}": text for number, text in enumerate(_LEASES)}
    parts = [dict(list(texts.items())[:4]), dict(list(texts.items())[4:])]
    tuned: dict[str, Any] = {"embedder": None, "tuning": file}
    with (
        opened(tmp_path, "a", parts[0], **tuned) as a,
        opened(tmp_path, "b", parts[1], **tuned) as b,
        opened(tmp_path, "all", texts, **tuned) as merged,
        opened(tmp_path, "untuned", texts, embedder=None) as untuned,
    ):
        found = search([a, b], "rent and repairs", headers=False)
        assert texts_of(found) == texts_of(merged.search("rent and repairs", headers=False))
        assert texts_of(found) != texts_of(untuned.search("rent and repairs", headers=False))
        with pytest.raises(OptionError, match="tuning"):
            search([a, untuned], "rent")


class _Unjoinable(MemoryStore):
    """Store whose snapshots implement `Snapshot` only."""

    @contextmanager
    def snapshot(self) -> Iterator[Any]:
        class Plain(MemorySnapshot):
            start_scan = property()

        yield Plain(tuple(self._live().values()), self._settings)


class _Changing(MemoryStore):
    """Store that is read without locks and changes during the first two reads."""

    reads = 0

    @contextmanager
    def snapshot(self) -> Iterator[MemorySnapshot]:
        self.reads += 1
        with super().snapshot() as snapshot:
            yield snapshot
        if self.reads < 3:
            raise StoreChangedError("changed")


def test_a_store_that_cannot_be_joined_is_named_and_a_changed_one_is_read_again() -> None:
    with KnowledgeBase(":memory:") as a, KnowledgeBase(":memory:") as b:
        for base in (a, b):
            base.add_text("The rent is low.", document_id="x")
        expected = texts_of(search([a, b], "rent"))
        for kind in (_Changing, _Unjoinable):
            store = store_of(b)
            b._components.store.__class__ = kind
            if kind is _Changing:
                assert texts_of(search([a, b], "rent")) == expected
                assert store.reads == 3  # type: ignore[attr-defined]
            else:
                with pytest.raises(OptionError, match=":memory: 2"):
                    search([a, b], "rent")


def test_a_search_sees_whole_documents_while_both_are_written(tmp_path: Path) -> None:
    with opened(tmp_path, "a", {}) as a, opened(tmp_path, "b", {}) as b:
        stop = threading.Event()

        def write(base: KnowledgeBase) -> None:
            turn = 0
            while not stop.is_set():
                turn += 1
                text = "\n\n".join(f"Turn {turn} of the rent." for _ in range(20))
                base.add_text(text, document_id="x")

        threads = [threading.Thread(target=write, args=(base,)) for base in (a, b)]
        for thread in threads:
            thread.start()
        try:
            for _ in range(15):
                for segment in search([a, b], "rent", deep=False).segments:
                    assert len({line for line in segment.text.split("\n") if line}) == 1
        finally:
            stop.set()
            for thread in threads:
                thread.join()


def test_the_command_line_searches_several(two: list[KnowledgeBase], tmp_path: Path) -> None:
    for base in two:
        base.close()
    bases = ["--kb", "reports.kb", "--kb", "letters.kb"]
    done = spanwise("search", QUESTION, *bases, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "reports.kb" in done.stdout
    assert "letters.kb" in done.stdout
    found = read_json("search", QUESTION, *bases, "--json", folder=tmp_path)
    names = {segment["knowledge_base"] for segment in found["segments"]}
    assert names == {"reports.kb", "letters.kb"}
    (tmp_path / "found.json").write_text(json.dumps(found), encoding="utf-8")
    located = read_json("locate", "found.json", *bases, "--json", folder=tmp_path)
    assert {one["status"] for one in located["citations"]} == {"current"}
    alone = spanwise("locate", "found.json", *bases[:2], folder=tmp_path)
    assert alone.returncode == 2
    assert "letters.kb" in alone.stderr
    refused = spanwise("list", *bases, folder=tmp_path)
    assert refused.returncode == 2
    assert "letters.kb" in refused.stderr
    explained = spanwise("explain", QUESTION, *bases, "--html", "why.html", folder=tmp_path)
    assert explained.returncode == 0, explained.stderr
    assert "reports.kb: " in explained.stdout
    assert "letters.kb: " in (tmp_path / "why.html").read_text(encoding="utf-8")
    assert spanwise("excerpts", QUESTION, *bases, folder=tmp_path).returncode == 0
    refused = spanwise("ask", "--chat", "--llm", "openai:x", *bases, folder=tmp_path)
    assert refused.returncode == 2
    assert "--chat" in refused.stderr


def test_a_search_of_several_is_explained(two: list[KnowledgeBase]) -> None:
    """All forms of the explanation distinguish documents with the same id."""
    queries = ["What did the letter say?"]
    explanation = explain(two, QUESTION, more_queries=queries, budget_tokens=200)
    result = search(two, QUESTION, more_queries=queries, budget_tokens=200)
    assert texts_of(explanation.result) == texts_of(result)
    names = {(one.knowledge_base, one.document_id) for one in explanation.documents}
    assert names == {("reports.kb", "2018.md"), ("letters.kb", "2018.md")}
    for segment in result.segments:
        inside = [one for one in explanation.candidates if one.segment == segment.rank]
        assert inside
        assert {one.knowledge_base for one in inside} == {segment.knowledge_base}
        assert sum(one.contains(segment) for one in explanation.documents) == 1
    assert len(explanation.terms.required_in) == len(explanation.terms.required)
    page = explanation.to_html()
    assert "reports.kb: 2018.md" in page
    assert "letters.kb: 2018.md" in page


def test_a_near_duplicate_in_another_knowledge_base_is_explained(tmp_path: Path) -> None:
    text = "The margin fell because freight cost more, and the mill was closed in May of the year."
    with (
        opened(tmp_path, "a.kb", {"x": text}) as a,
        opened(tmp_path, "b.kb", {"x": text}) as b,
    ):
        explanation = explain([a, b], "Why did the margin fall?")
        copies = [one for one in explanation.candidates if one.copy_of is not None]
        assert [(one.knowledge_base, one.copy_in, one.copy_of) for one in copies] == [
            ("b.kb", "a.kb", ("x", 0))
        ]
        explanation.to_html()
        (alone,) = a.explain("Why did the margin fall?").documents
        assert (alone.knowledge_base, alone.document_name) == ("", "x")


def test_a_rebuild_of_one_and_former_fields_of_another(tmp_path: Path) -> None:
    with KnowledgeBase(tmp_path / "a") as a, KnowledgeBase(tmp_path / "b") as b:
        a.add_text("The rent is low.", document_id="x", metadata={"old": 1})
        b.add_text("The rent is high.", document_id="y")
        a.update_metadata(["x"], {"old": None})
        assert not search([a, b], "rent", where="old = 1").segments
        both = KnowledgeBases([a, b])
        components = both._components  # taken before the rebuild, as `ask` does
        with KnowledgeBase(tmp_path / "a") as other:
            other.rebuild(tokenizer="chars:4")
        with KnowledgeBase(tmp_path / "b") as other:
            other.rebuild(tokenizer="chars:4")
        assert components.latest() is not components
        assert len(both.search("rent").segments) == 2
