"""Conformance checks of stores: searches, compared with a reference implementation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest

from spanwise.core.documents.headers import searched_header
from spanwise.core.ranking.scan import PassageRange, ScanQuery, digit_share
from spanwise.errors import DocumentNotFoundError, FilterError
from spanwise.filters import field, matches, parse_filter
from spanwise.stores.port import DocumentEntry, Snapshot, Store
from spanwise.stores.several import SeveralStores
from spanwise.testing.brute_force import (
    expected_impact,
    expected_scan,
    expected_similar_spelling,
    expected_similar_words,
    expected_similarity,
)
from spanwise.testing.store_documents import FILTER_TEXTS
from spanwise.testing.store_entries import (
    DIMENSION,
    SETTINGS,
    fill,
    make_corpus,
    make_entry,
    question,
    question_vector,
    reference_terms,
)
from spanwise.testing.store_suite import StoreSuite, check_scan, compare

_NONE = np.zeros((0, DIMENSION), dtype=np.float32)
_UNEVEN = (0, 1, 1, 1, 2)
"""Section number of each chunk."""

QUESTIONS = (
    "lease",
    "the of and",
    "goodwill impairment of the Segment in FY2018",
    "1,577.0 naïve Straße 収益 7",
    "annual report dividend twin lease",
    "zanzibar",
    "zanzibar margin nowhere",
    "nowhere",
)


class SearchChecks(StoreSuite):
    """Checks of scans, filters, order and passages."""

    def test_keyword_scores_are_those_of_the_definition(self, store: Store) -> None:
        """Keyword scores, counts, means and deviations equal the reference."""
        entries = make_corpus()
        fill(store, entries)
        for text in QUESTIONS:
            check_scan(store, entries, question(text, vector=False))

    def test_both_searches_and_their_fusion_find_the_best(self, store: Store) -> None:
        """Keyword search, vector search and their fusion return the requested number of hits."""
        entries = make_corpus()
        fill(store, entries)
        for text in QUESTIONS:
            for hits in (1, 3, 20, 400):
                check_scan(store, entries, question(text, hits=hits))

    def test_ties_go_to_the_older_document_then_the_earlier_chunk(self, store: Store) -> None:
        """Ties are broken by insertion order, not by id; a replaced document counts as new."""
        same = ["lease\n", "lease\n", "margin\n", "lease\n"]
        entries = [make_entry(document_id, same) for document_id in ("c", "a", "d", "b")]
        fill(store, entries)
        for hits in range(1, 16):
            check_scan(store, entries, question("lease", hits=hits))
        store.put_document(entries[0])
        entries.append(entries.pop(0))
        store.compact()
        for hits in range(1, 16):
            check_scan(store, entries, question("lease", hits=hits))

    def test_a_title_weighs_where_no_chunk_does(self, store: Store) -> None:
        """A term that occurs only in titles is weighted by its rarity among titles."""
        entries = make_corpus()
        fill(store, entries)
        query = question("zanzibar", vector=False)
        check_scan(store, entries, query)
        with store.snapshot() as snapshot:
            scan = snapshot.scan(query)
        assert scan.term_chunks.tolist() == [0]
        assert scan.title_documents.tolist() == [4]
        assert len(scan.hit_chunks) == scan.document_chunks.sum() > 4

    def test_a_question_without_terms_finds_by_vector(self, store: Store) -> None:
        """A query without terms has keyword scores of 0 and finds chunks by vector."""
        entries = make_corpus()
        fill(store, entries)
        check_scan(store, entries, question("— …", vector=True))
        query = question("", vector=False)
        check_scan(store, entries, query)
        with store.snapshot() as snapshot:
            scan = snapshot.scan(query)
        assert scan.document_terms.shape == (0, 0)
        assert len(scan.hit_chunks) == 0

    def test_a_vector_of_another_shape_is_refused(self, store: Store) -> None:
        """A query vector of another dimension is refused."""
        fill(store, make_corpus())
        query = question("lease")
        assert query.vector is not None
        wrong = type(query)(terms=query.terms, vector=query.vector[:3])
        with store.snapshot() as snapshot:
            with pytest.raises(ValueError, match="dimension"):
                snapshot.scan(wrong)
            with pytest.raises(ValueError, match="dimension"):
                snapshot.passages([], terms=(), vectors=np.ones((2, 3), dtype=np.float32))

    def test_filters_narrow_the_scope_and_nothing_else(self, store: Store) -> None:
        """A filter restricts the hits; term weights are still computed from all documents."""
        entries = make_corpus()
        fill(store, entries)
        for number, text in enumerate(FILTER_TEXTS):
            where = parse_filter(text)
            query = question(QUESTIONS[number % len(QUESTIONS)], hits=8, vector=number % 3 > 0)
            scope = {e.document.id for e in entries if matches(where, e.document.metadata)}
            with store.snapshot() as snapshot:
                expected = expected_scan(
                    entries, query, reference_terms=reference_terms(), scope=scope
                )
                compare(snapshot.scan(query, where=where), expected, snapshot)

    def test_named_documents_narrow_the_scope(self, store: Store) -> None:
        """A list of documents restricts the hits, in any order, with repetitions or a filter."""
        entries = make_corpus()
        fill(store, entries)
        query = question("lease margin zanzibar", hits=4)
        some = ["twin/a", entries[3].document.id, "alone", "twin/a"]
        where = field("year") >= 2010
        for names in (some, ["alone"], [], [entry.document.id for entry in entries]):
            for chosen in (None, where):
                scope = {
                    entry.document.id
                    for entry in entries
                    if entry.document.id in names
                    and (chosen is None or matches(chosen, entry.document.metadata))
                }
                with store.snapshot() as snapshot:
                    expected = expected_scan(
                        entries, query, reference_terms=reference_terms(), scope=scope
                    )
                    scan = snapshot.scan(query, where=chosen, documents=names)
                    compare(scan, expected, snapshot)

    def test_an_unknown_document_in_the_scope_is_refused(self, store: Store) -> None:
        """A scan of an unknown or deleted document is an error."""
        fill(store, make_corpus())
        store.delete_document("twin/c")
        with store.snapshot() as snapshot:
            for name in ("never", "twin/c"):
                with pytest.raises(DocumentNotFoundError, match=name):
                    snapshot.scan(question("lease"), documents=["alone", name])

    def test_an_empty_store_finds_nothing(self, store: Store) -> None:
        """A search of an empty store returns no results and no error."""
        for _ in range(2):
            check_scan(store, [], question("lease"))
            check_scan(store, [], question("", vector=False))
            assert store.list_records() == []
            with store.snapshot() as snapshot:
                empty = snapshot.passages(
                    [], terms=("lease",), vectors=question_vector("lease")[None]
                )
                assert empty.impacts.shape == (1, 0)
                assert empty.similarities.shape == (1, 0)
                with pytest.raises(FilterError, match="unknown field 'year'"):
                    snapshot.scan(question("lease"), where=field("year").exists())
            store.compact()
        store.put_document(make_entry("a", ["lease"]))
        store.delete_document("a")
        check_scan(store, [], question("lease"))

    def test_passages_are_the_raw_material(self, store: Store) -> None:
        """`passages` returns the raw features of chunks for any ranges, terms and vectors."""
        entries = make_corpus()
        fill(store, entries)
        store.compact()
        late = make_entry("late", ["12 late leases\n", "and 1,577.0 margins"])
        store.put_document(late)
        by_id = {entry.document.id: entry for entry in (*entries, late)}
        terms = question("lease margin 1,577.0 nowhere the").terms
        vectors = np.stack([question_vector(text) for text in ("lease", "margin of the", "x")])
        with store.snapshot() as snapshot:
            scan = snapshot.scan(question("lease margin the"))
            handles = {snapshot.record(int(h)).id: int(h) for h in scan.handles}
            wanted = [("late", 0, 2), ("twin/c", 1, 3), ("twin/a", 0, 3), ("twin/c", 2, 3)]
            wanted += [("late", 1, 1), (entries[6].document.id, 0, len(entries[6].chunks))]
            ranges = [PassageRange(handles[name], start, end) for name, start, end in wanted]
            for some_terms, some_vectors in (
                (terms, vectors),
                ((), vectors),
                (terms, vectors[:0]),
            ):
                found = snapshot.passages(ranges, terms=some_terms, vectors=some_vectors)
                places = [(by_id[n], i) for n, start, end in wanted for i in range(start, end)]
                chunks = [entry.chunks[index] for entry, index in places]
                lengths = [len(chunk.text) for chunk in chunks]
                assert found.chars.tolist() == lengths, "lengths in the requested order"
                assert found.tokens.tolist() == [chunk.tokens for chunk in chunks]
                digits = [digit_share(chunk.text) for chunk in chunks]
                assert found.digits.tolist() == pytest.approx(digits, abs=1e-6)
                assert found.impacts.shape == (len(some_terms), len(chunks))
                for term, row in zip(some_terms, found.impacts, strict=True):
                    impacts = [
                        expected_impact(
                            term,
                            entry.chunks[index].text,
                            header=searched_header(entry.sections[entry.chunks[index].section]),
                            reference_terms=reference_terms(),
                        )
                        for entry, index in places
                    ]
                    assert row.tolist() == pytest.approx(impacts, abs=1e-6)
                assert found.similarities.shape == (len(some_vectors), len(chunks))
                for vector, row in zip(some_vectors, found.similarities, strict=True):
                    near = [expected_similarity(entry, index, vector) for entry, index in places]
                    assert row.tolist() == pytest.approx(near, abs=1e-6)

    def test_openings_are_where_sections_begin(self, tmp_path: Path) -> None:
        """The first chunk of each section is marked, also in partial ranges and after changes."""
        corpus = [*make_corpus(), _of_uneven_sections("uneven")]
        store = self.open_store(tmp_path / "store")
        store.ensure_settings(SETTINGS)
        fill(store, corpus[:9])
        store.compact()
        _check_openings(store)
        fill(store, corpus[9:])
        _check_openings(store)
        for document_id in (corpus[6].document.id, "twin/a"):
            store.delete_document(document_id)
        store.put_document(_of_uneven_sections(corpus[2].document.id), replace=True)
        _check_openings(store)
        store.compact()
        _check_openings(store)
        if self.on_disk:
            store.close()
            store = self.open_store(tmp_path / "store")
            _check_openings(store)
        store.close()

    def test_hits_are_ranked_by_the_keyword_share_of_the_query(self, store: Store) -> None:
        """The fused score weights keywords and cosine by `keyword_share`."""
        texts = ["lease margin lease", "lease of a ship", "margin", "goodwill 2022", "lease lease"]
        entries = [make_entry(name, [*texts, name]) for name in ("goodwill", "margin")]
        fill(store, entries)
        for share in (0.0, 0.2, 0.7, 1.0):
            query = replace(question("lease margin goodwill", hits=1), keyword_share=share)
            check_scan(store, entries, query)

    def test_terms_are_those_of_the_language_of_the_document(self, store: Store) -> None:
        """Chunks and titles are stemmed in the language of their document."""
        texts = ["Häuser und Verträge\n", "Haus, häuser\n", "Vertrag\n"]
        entries = [
            replace(make_entry(name, texts, title="Die Häuser"), language=language)
            for name, language in (("a", ""), ("b", "de"), ("c", "zh"))
        ]
        fill(store, entries)
        terms = ("haus", "häuser", "vertrag", "verträg", "nowhere")
        for words in ((), (0, 0, 1, 1, 2), (2, 1, 0, 1, 2)):
            check_scan(store, entries, ScanQuery(terms=terms, words=words, vector=None))
        store.compact()
        check_scan(store, entries, ScanQuery(terms=terms, words=(0, 0, 1, 1, 2), vector=None))
        with store.snapshot() as snapshot:
            scan = snapshot.scan(ScanQuery(terms=("haus",), vector=None))
            handle = int(scan.handles[1])
            found = snapshot.passages(
                [PassageRange(handle, 0, 1)], terms=("haus",), vectors=question_vector("x")[None]
            )
        assert scan.term_chunks.tolist() == [4], "two chunks in German, one in each other language"
        assert found.impacts[0, 0] > 0, "the German document holds it in its first chunk"

    def test_titles_and_summary_of_a_section_are_searched(self, store: Store) -> None:
        """A word that only the header of a section has finds all its chunks, and no others."""
        plain, headed = (make_entry(name, ["lease 12\n", "margin\n", "x\n"]) for name in ("a", "b"))
        first, *others = headed.sections
        sections = (
            replace(
                first, title="Zebras", path=("Ships", "Zebras"), summary="The lease of a quay."
            ),
            *others,
        )
        headed = replace(headed, sections=sections)
        extracted = replace(
            plain, sections=tuple(replace(s, extracted_title=True) for s in plain.sections)
        )
        entries = [extracted, headed]
        fill(store, entries)
        assert store.get_sections("a") == extracted.sections
        assert store.get_sections("b") == sections
        terms = ("leas", "ship", "zebra", "quay", "part", "margin")
        inside = sum(chunk.section == 0 for chunk in headed.chunks)
        later = len(headed.chunks) - inside
        for _ in range(2):
            check_scan(store, entries, ScanQuery(terms=terms, vector=None))
            with store.snapshot() as snapshot:
                scan = snapshot.scan(ScanQuery(terms=terms, vector=None))
                assert scan.term_chunks.tolist()[1:5] == [inside, inside, inside, later]
                handle = int(scan.handles[1])
                found = snapshot.passages(
                    [PassageRange(handle, 0, len(headed.chunks))], terms=("quay",), vectors=_NONE
                )
            is_in_first = [chunk.section == 0 for chunk in headed.chunks]
            assert (found.impacts[0] > 0).tolist() == is_in_first
            store.compact()

    def test_what_stands_above_a_part_of_a_table_is_searched(self, store: Store) -> None:
        """Table heads are searched, but not included in lengths and digit shares."""
        entries = [make_entry(name, ["lease 12\n", "margin 14\n"]) for name in ("a", "b")]
        chunks = entries[1].chunks
        below = replace(chunks[1], table_head="Lease of 2022\nmargin goodwill")
        entries[1] = replace(entries[1], chunks=(chunks[0], below))
        fill(store, entries)
        assert store.get_chunks("b") == entries[1].chunks
        terms = ("lease", "goodwil", "margin", "2022")
        for _ in range(2):
            check_scan(store, entries, ScanQuery(terms=terms, vector=None))
            with store.snapshot() as snapshot:
                scan = snapshot.scan(ScanQuery(terms=("goodwil",), vector=None))
                handle = int(scan.handles[0])
                found = snapshot.passages(
                    [PassageRange(handle, 1, 2)],
                    terms=("goodwil",),
                    vectors=question_vector("x")[None],
                )
            assert scan.term_chunks.tolist() == [1]
            assert found.impacts[0, 0] > 0
            assert found.chars.tolist() == [len(below.text)]
            assert found.digits.tolist() == pytest.approx([digit_share(below.text)], abs=1e-6)
            store.compact()

    def test_the_context_of_a_chunk_is_searched(self, store: Store) -> None:
        """The context of a chunk is searched and returned."""
        entries = [make_entry(name, ["lease 12\n", "margin 14\n"]) for name in ("a", "b")]
        first, second = entries[1].chunks
        contextual = (
            replace(first, context="Goodwill of the lease, of 2022."),
            replace(second, context="Zanzibar.", table_head="goodwill 2022"),
        )
        entries[1] = replace(entries[1], chunks=contextual)
        fill(store, entries)
        assert store.get_chunks("b") == contextual, "context"
        terms = ("lease", "goodwil", "zanzibar", "2022", "margin")
        for _ in range(2):
            check_scan(store, entries, ScanQuery(terms=terms, vector=None))
            with store.snapshot() as snapshot:
                scan = snapshot.scan(ScanQuery(terms=("goodwil", "zanzibar"), vector=None))
            assert scan.term_chunks.tolist() == [2, 1]
            store.compact()

    def test_similar_words_are_those_of_the_definition(self, tmp_path: Path) -> None:
        """Words of similar meaning and spelling equal the reference after every change."""
        random = Random(15)  # noqa: S311 - the history is the same on every run
        store = self.open_store(tmp_path / "store")
        store.ensure_settings(SETTINGS)
        entries = [_with_words(name, random) for name in "abcdef"]
        fill(store, entries)
        check_words(store, entries)
        for step in range(12):
            if len(entries) > 3 and random.random() < 0.3:
                assert store.delete_document(
                    entries.pop(random.randrange(len(entries))).document.id
                )
            else:
                entry = _with_words(random.choice("abcdefghij"), random)
                store.put_document(entry, replace=True)
                kept = [old for old in entries if old.document.id != entry.document.id]
                entries = [*kept, entry]
            if step % 4 == 1:
                store.compact()
            if self.on_disk and step % 4 == 3:
                store.close()
                store = self.open_store(tmp_path / "store")
            check_words(store, entries)
        with store.snapshot() as snapshot:
            found = _all_words(snapshot)
        store.close()
        fresh = self.open_store(tmp_path / "fresh")
        fresh.ensure_settings(SETTINGS)
        fill(fresh, entries)
        with fresh.snapshot() as snapshot:
            assert _all_words(snapshot) == found, "words depend on earlier contents"
        fresh.close()

    def test_similar_words_of_an_empty_store_are_none(self, store: Store) -> None:
        """An empty store has no similar words; an unknown handle is an error."""
        with store.snapshot() as snapshot:
            assert snapshot.similar_words([], ["lease", "x"]) == ((), ())
            assert snapshot.similar_spellings(["lease", "x"]) == (None, None)
            assert snapshot.similar_words([], []) == ()
            assert snapshot.similar_spellings([]) == ()
            with pytest.raises(DocumentNotFoundError):
                snapshot.similar_words([7], ["lease"])

    def test_languages_are_those_of_living_documents(self, store: Store) -> None:
        """`languages` returns the sorted languages of stored documents; "" means unknown."""
        with store.snapshot() as snapshot:
            assert snapshot.languages() == ()
        for name, language in (("a", "zh"), ("b", "de"), ("c", ""), ("d", "de"), ("e", "fr")):
            store.put_document(replace(make_entry(name, ["lease"]), language=language))
        store.delete_document("e")
        with store.snapshot() as snapshot:
            assert snapshot.languages() == ("", "de", "zh")
        record = store.get_record("a")
        assert record is not None
        assert record.language == "zh"

    def test_a_filter_sees_the_language(self, store: Store) -> None:
        """The language can be used in filters; a metadata field of this name takes precedence."""
        store.put_document(replace(make_entry("a", ["lease"]), language="de"))
        store.put_document(make_entry("b", ["lease"]))
        given = make_entry("c", ["lease"], metadata={"language": "Swiss German"})
        store.put_document(replace(given, language="de"))
        german = field("language") == "de"
        assert [record.id for record in store.list_records(german)] == ["a"]
        with store.snapshot() as snapshot:
            assert snapshot.scan(question("lease"), where=german).documents == 1
            assert snapshot.scan(question("lease"), where=field("language").exists()).documents == 2

    def test_a_snapshot_reads_by_handle(self, store: Store) -> None:
        """Records, sections, pages and chunks are read by the handles of a scan."""
        entries = make_corpus()
        fill(store, entries)
        by_id = {entry.document.id: entry for entry in entries}
        with store.snapshot() as snapshot:
            scan = snapshot.scan(question("lease the", hits=5))
            for handle in scan.handles.tolist():
                record = snapshot.record(handle)
                entry = by_id[record.id]
                assert record == store.get_record(record.id)
                assert snapshot.sections(handle, 0, len(entry.sections) + 1) == entry.sections
                assert snapshot.sections(handle, 1, 2) == entry.sections[1:2]
                assert snapshot.pages(handle) == entry.document.pages
                assert snapshot.blocks(handle) == entry.document.blocks
                count = len(entry.chunks)
                for start, end in ((0, count), (0, 1), (count - 1, count), (0, 0), (0, count + 9)):
                    assert snapshot.chunks(handle, start, end) == entry.chunks[start:end]

    def test_a_snapshot_reads_ranges_of_several_documents(self, store: Store) -> None:
        """Chunks of ranges are in the order of the ranges, also if these overlap or are empty."""
        entries = make_corpus()
        fill(store, entries)
        by_id = {entry.document.id: entry.chunks for entry in entries}
        with store.snapshot() as snapshot:
            scan = snapshot.scan(question("lease the", hits=9))
            handles = scan.handles.tolist()
            chunks = {handle: by_id[snapshot.record(handle).id] for handle in handles}
            ranges = [
                PassageRange(handle, start, end)
                for handle in [*handles, *reversed(handles)]
                for start, end in ((0, len(chunks[handle])), (0, 1), (1, 1))
            ]
            for some in (ranges[4:9], ranges, ranges[:1], ()):
                expected = [chunks[span.handle][span.start : span.end] for span in some]
                assert snapshot.chunk_ranges(some) == expected
            with pytest.raises(DocumentNotFoundError):
                snapshot.chunk_ranges([ranges[0], PassageRange(max(handles) + 1_000, 0, 1)])


def _of_uneven_sections(document_id: str) -> DocumentEntry:
    """Return a document with three sections of one, three and one chunk."""
    entry = make_entry(document_id, [f"lease {number}. " for number in range(len(_UNEVEN))])
    chunks = tuple(
        replace(chunk, section=section)
        for chunk, section in zip(entry.chunks, _UNEVEN, strict=True)
    )
    sections = []
    for number, section in enumerate(entry.sections):
        inside = [chunk for chunk in chunks if chunk.section == number]
        sections.append(replace(section, start=inside[0].start, end=inside[-1].end))
    return replace(entry, chunks=chunks, sections=tuple(sections))


def _check_openings(store: Store) -> None:
    """Check the section openings of every chunk range of every document."""
    with store.snapshot() as snapshot:
        scan = snapshot.scan(question("lease"))
        assert len(scan.handles) == scan.all_documents, "a vector finds all of so few"
        ranges: list[PassageRange] = []
        expected: list[bool] = []
        sizes = zip(scan.handles.tolist(), scan.document_chunks.tolist(), strict=True)
        for handle, size in sizes:
            sections = [chunk.section for chunk in snapshot.chunks(handle, 0, size)]
            begins = [i == 0 or sections[i - 1] != section for i, section in enumerate(sections)]
            for start in range(size):
                ranges += [PassageRange(handle, start, end) for end in range(start, size + 1)]
                expected += [b for end in range(start, size + 1) for b in begins[start:end]]
        nothing = np.empty((0, DIMENSION), dtype=np.float32)
        found = snapshot.passages(ranges, terms=(), vectors=nothing).openings
    assert found.dtype == np.bool_
    assert found.tolist() == expected, "openings of ranges"


_WORDS = (
    "car cars Automobile vehicle vehicles lease Leases leasing rent rental tenant landlord profit "
    "profits earnings income revenue loss losses dog puppy cat cats government governor Regierung "
    "Verträge Vertrag house houses Häuser DiffExecutor FY2018 1,577.0 収益 naïve of the 12"
).split()
_ASKED = ("Automobile", "rent", "earnings", "goverment", "hosue", "cars", "FY2018", "the", "Häusr")


def _with_words(document_id: str, random: Random) -> DocumentEntry:
    """Return a document of one to four chunks with some of the words."""
    texts = [
        " ".join(random.choices(_WORDS, k=random.randrange(2, 16))) + ".\n"
        for _ in range(random.randrange(1, 5))
    ]
    language = random.choice(("", "en", "de"))
    return replace(make_entry(document_id, texts), language=language)


def random_entries(document_ids: str) -> list[DocumentEntry]:
    """Return one document per letter of a text, with words from a generator of fixed seed."""
    random = Random(29)  # noqa: S311
    return [_with_words(document_id, random) for document_id in document_ids]


def check_words(store: Store | SeveralStores, entries: Sequence[DocumentEntry]) -> None:
    """Check words of similar meaning and spelling against the reference implementation.

    Args:
        store: Store under test.
        entries: Documents of the store.
    """
    with store.snapshot() as snapshot:
        assert snapshot.languages() == tuple(sorted({entry.language for entry in entries}))
        handles = _handles(snapshot)
        for chosen in (entries, entries[::2], entries[:1], []):
            found = snapshot.similar_words([handles[e.document.id] for e in chosen], _ASKED)
            for word, similar in zip(_ASKED, found, strict=True):
                expected = expected_similar_words(chosen, word, languages=snapshot.languages())
                assert list(similar) == expected, f"words similar to {word!r}"
        spelled = snapshot.similar_spellings(_ASKED)
        for word, nearest in zip(_ASKED, spelled, strict=True):
            assert nearest == expected_similar_spelling(entries, word), f"spelling of {word!r}"


def _handles(snapshot: Snapshot) -> dict[str, int]:
    """Return the handles of all documents by id; a vector search returns all of a small store."""
    scan = snapshot.scan(question("lease"))
    return {snapshot.record(handle).id: handle for handle in scan.handles.tolist()}


def _all_words(snapshot: Snapshot) -> tuple[object, ...]:
    handles = list(_handles(snapshot).values())
    return snapshot.similar_words(handles, _ASKED), snapshot.similar_spellings(_ASKED)
