"""Conformance checks of stores: adding, listing, replacing and deleting documents."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, cast, get_args

import numpy as np
import pytest

from spanwise.core.documents.versions import VERSION_CHARS
from spanwise.errors import ConflictError, FilterError, OptionError, StoreError
from spanwise.filters import matches, parse_filter
from spanwise.stores.port import DocumentEntry, Store
from spanwise.testing.store_entries import (
    DIMENSION,
    SETTINGS,
    fill,
    fingerprint,
    make_corpus,
    make_entry,
    question,
    question_vector,
)
from spanwise.testing.store_suite import StoreSuite, check_scan
from spanwise.types import (
    Block,
    Chunk,
    DocumentRecord,
    DocumentStatus,
    FieldOrigins,
    Heading,
    Page,
    Section,
)

ODD_PARAGRAPHS = (
    "\ufeffZero\x00byte, CRLF\r\n, line\u2028and\u2029paragraph separators\n",
    "Combining e\u0301, emoji 👩🏽‍🚀, 収益 ٣, \U0010ffff, private \ue000\n",
    "\t tabs and spaces \u00a0\u3000 \x1f\x85",
)
FILTER_TEXTS = (
    "year = 2012",
    "year != 2012",
    "year < 2012",
    "year <= 2012.0",
    "year > 2012.5",
    "year >= 2013",
    "kind = 'A'",
    "kind != 'A'",
    "kind < 'B'",
    "kind >= 'B'",
    "draft = true",
    "draft != true",
    "score > 1.4",
    "kind = 'a'",
    "kind exactly 'a'",
    "kind not in ('a', 'b')",
    "company = 'cafe nero'",
    "company contains 'INC'",
    "company starts with 'nike'",
    "company != 'NIKE, INC.'",
    "company >= 'nike'",
    "'nda' in tags",
    "'elan' not in tags",
    "tags in ('msa', true)",
    "tags != 'msa'",
    "tags exists",
    "3 in tags",
    "tags > 2",
    "signed = 2019",
    "signed = 2019-02",
    "signed >= 2019-03-01",
    "signed <= 2019-02",
    "signed < 2020",
    "year in (2010, 2013)",
    "year not in (2010, 2013)",
    "kind in ('A', 'C')",
    "kind in ()",
    "draft exists",
    "not draft exists",
    "not (kind = 'A')",
    "not (draft = false) and (kind = 'B' or year in (2011, 2014))",
    "year = 1999",
)
"""Filters on the fields of `make_corpus`."""
WRONG_FILTERS = {
    "yeer = 2012": "unknown field 'yeer'.*year",
    "not yeer exists": "unknown field 'yeer'.*year",
    "year = '2012'": "compares it with a text",
    "kind > 3": "compares it with a number",
    "draft in (true, 1)": "compares it with a number",
    "year = true": "compares it with a boolean",
    "signed > 12": "compares it with a number",
    "company contains 3": "compares it with a number",
    "year starts with '20'": "compares it with a text",
}
"""Invalid filters, with regular expressions for the expected messages."""


class DocumentChecks(StoreSuite):
    """Checks of documents, records and filters."""

    def test_a_document_comes_back_as_it_went_in(self, store: Store) -> None:
        """A stored document is returned unchanged, including the types of metadata values."""
        entry = make_entry(
            "odd/Ünï 文.txt",
            ODD_PARAGRAPHS,
            title="Odd \x00 'title'",
            metadata={"whole": 3, "decimal": 3.0, "yes": True, "no": False, "text": "'; -- \x00"},
            source_root="https://example.org/a?b=c",
        )
        text = entry.document.text
        pages = (
            Page(start=0, end=10, label="xii"),
            Page(start=10, end=10),
            Page(start=10, end=len(text), label=""),
        )
        document = replace(
            entry.document,
            pages=pages,
            headings=(Heading(start=1, end=5, level=2, title="Zero"),),
            blocks=(Block(start=20, end=29, kind="table"), Block(start=29, end=30, kind="code")),
            media_type="text/x-odd",
            status="partial",
            warnings=("a", "b\n"),
        )
        store.put_document(replace(entry, document=document))
        found = store.get_document(entry.document.id)
        assert found is not None
        assert found.text == text, "text"
        assert found.pages == pages
        assert found.headings == document.headings, "headings"
        assert found.blocks == document.blocks, "blocks"
        types = {name: type(value) for name, value in found.metadata.items()}
        wanted = {name: type(value) for name, value in document.metadata.items()}
        assert types == wanted, "types of the metadata"
        assert found == document

    def test_chunks_and_sections_come_back(self, store: Store) -> None:
        """Chunks and sections are returned in order, and the chunks join to the text."""
        entry = make_entry("a", [*ODD_PARAGRAPHS, "Fourth.", "Fifth."], title="Ä")
        first, *others = entry.sections
        sections = (replace(first, summary="What it is about:\x00 収益"), *others)
        entry = replace(entry, sections=sections)
        store.put_document(entry)
        assert store.get_chunks("a") == entry.chunks, "all chunks"
        assert store.get_sections("a") == entry.sections, "all sections"
        assert "".join(chunk.text for chunk in store.get_chunks("a")) == entry.document.text

    def test_vectors_come_back_at_unit_length(self, store: Store) -> None:
        """Vectors are stored normalised and in half precision; a zero vector stays zero."""
        entry = make_entry("a", ["lease goodwill\n", "… —\n", "margin"])
        store.put_document(entry)
        embedded = store.get_embedded("a")
        assert embedded is not None
        chunks, found = embedded
        assert chunks == entry.chunks
        assert entry.vectors is not None
        lengths = np.linalg.norm(entry.vectors, axis=1, keepdims=True)
        expected = entry.vectors / np.where(lengths > 0, lengths, 1)
        assert found.shape == (3, DIMENSION)
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, expected, atol=1e-3)
        assert not found[1].any()

    def test_a_record_tells_what_is_known(self, store: Store) -> None:
        """A record has the counts, the metadata and the source of its document."""
        entry = replace(make_corpus()[5], recipe='{"title": "ü\x00"}')
        store.put_document(entry)
        record = store.get_record(entry.document.id)
        assert record is not None
        document = entry.document
        assert (record.chunks, record.pages) == (len(entry.chunks), 1)
        assert record.chars == len(document.text)
        assert record.tokens == sum(chunk.tokens for chunk in entry.chunks)
        assert record.metadata == document.metadata
        assert record.given_fields == document.given_fields
        assert record.recipe == entry.recipe, "recipe"
        assert (record.id, record.title, record.summary) == (
            document.id,
            entry.title,
            entry.summary,
        )
        assert (record.source, record.source_root) == (document.source, document.source_root)
        assert (record.content_hash, record.media_type) == (
            document.content_hash,
            document.media_type,
        )

    def test_changing_what_was_read_changes_nothing_stored(self, store: Store) -> None:
        """Metadata of a record or document that was read can be changed by the caller."""
        origins = FieldOrigins(given={"team": "x"}, edited={"year": 2023})
        entry = make_entry("a", ["Margins fell."], metadata={"team": "x", "year": 2023})
        store.put_document(replace(entry, document=replace(entry.document, origins=origins)))
        for value in [store.get_record("a"), store.get_document("a"), *store.list_records()]:
            assert value is not None
            assert value.origins is not None
            for mapping in (value.metadata, value.origins.given, value.origins.edited):
                cast("dict[str, object]", mapping)["team"] = "changed"
        record, document = store.get_record("a"), store.get_document("a")
        assert record is not None
        assert document is not None
        assert record.metadata == document.metadata == {"team": "x", "year": 2023}
        assert record.origins == document.origins == origins
        assert store.list_records(parse_filter('team = "x"')) == [record]

    def test_a_record_says_its_version_and_whether_it_is_whole(self, store: Store) -> None:
        """The version depends on the text alone; the status can be used in filters."""
        entries = {
            status: make_entry(status, ["The same text."], title=status)
            for status in get_args(DocumentStatus)
        }
        for status, entry in entries.items():
            store.put_document(
                replace(entry, document=replace(entry.document, status=status)), replace=True
            )
        records = {record.id: record for record in store.list_records()}
        assert {name: record.status for name, record in records.items()} == {
            status: status for status in entries
        }, "status of each"
        version = hashlib.sha256(b"The same text.").hexdigest()[:VERSION_CHARS]
        assert {record.version for record in records.values()} == {version}, "version of the text"
        for text in ("status = 'ok'", "status != 'ok'", "status in ('partial', 'needs_ocr')"):
            where = parse_filter(text)
            expected = sorted(status for status in entries if matches(where, {"status": status}))
            assert [record.id for record in store.list_records(where)] == expected, text

    def test_a_whole_document_is_of_one_moment(self, store: Store) -> None:
        """`get_whole` returns a record, its document and its sections; None for an unknown id."""
        entry = make_corpus()[5]
        store.put_document(entry)
        whole = store.get_whole(entry.document.id)
        assert whole is not None
        assert whole.record == store.get_record(entry.document.id), "record"
        assert whole.document == entry.document, "document"
        assert whole.sections == entry.sections, "sections"
        assert store.get_whole("another") is None

    def test_ids_and_records_are_in_order(self, store: Store) -> None:
        """Records are sorted by the code points of their ids, not by insertion."""
        ids = ["b", "a", "B", "ä", "a/b", "\U0001f600", "\uffee", "a!/1", "10", "9"]
        fill(store, [make_entry(document_id, ["text"]) for document_id in ids])
        assert [record.id for record in store.list_records()] == sorted(ids)

    def test_ids_are_listed_by_source_root(self, store: Store) -> None:
        """Roots without documents are left out, and roots are compared as they are."""
        for document_id, root in (("b", "/in"), ("a", "/in"), ("c", "/in/d"), ("d", "")):
            entry = make_entry(document_id, ["text"])
            document = replace(entry.document, source_root=root)
            store.put_document(replace(entry, document=document))
        found = store.ids_from(["/in", "/in/d", "/IN", "/"])
        assert {root: list(ids) for root, ids in found.items()} == {
            "/in": ["a", "b"],
            "/in/d": ["c"],
        }
        assert not store.ids_from([])

    def test_an_unknown_id_gives_nothing(self, store: Store) -> None:
        """Reads of an unknown id return None or an empty tuple, and a deletion returns False."""
        store.put_document(make_entry("a", ["text"]))
        for document_id in ("b", "A", "", "a "):
            assert store.get_record(document_id) is None
            assert store.get_document(document_id) is None
            assert store.get_whole(document_id) is None
            assert store.get_embedded(document_id) is None
            assert store.get_chunks(document_id) == ()
            assert store.get_sections(document_id) == ()
            assert store.delete_document(document_id) is False

    def test_a_document_is_replaced_whole(self, store: Store) -> None:
        """Counts and searches do not include the replaced version."""
        others = make_corpus()[:4]
        fill(store, others)
        old = make_entry("a", ["zebra one\n", "zebra two\n", "zebra three\n"], title="zebra")
        new = make_entry("a", ["yak margin"], title="yak", metadata={"year": 1})
        assert store.put_document(old) == "added"
        check_scan(store, [*others, old], question("zebra yak margin"))
        assert store.put_document(new) == "replaced"
        assert store.get_document("a") == new.document
        assert store.get_chunks("a") == new.chunks
        assert store.get_sections("a") == new.sections
        embedded = store.get_embedded("a")
        assert embedded is not None
        assert embedded[0] == new.chunks
        assert len(embedded[1]) == 1
        check_scan(store, [*others, new], question("zebra yak margin"))
        store.compact()
        check_scan(store, [*others, new], question("zebra yak margin"))

    def test_a_deleted_document_is_gone(self, store: Store) -> None:
        """Reads, counts and searches do not include a deleted document; its id can be reused."""
        entries = make_corpus()
        fill(store, entries)
        gone = entries.pop(2)
        document_id = gone.document.id
        assert store.delete_document(document_id) is True
        assert store.delete_document(document_id) is False
        assert store.get_document(document_id) is None
        assert store.get_chunks(document_id) == ()
        assert store.get_embedded(document_id) is None
        assert document_id not in [record.id for record in store.list_records()]
        check_scan(store, entries, question("lease zanzibar dividend revenue"))
        store.compact()
        check_scan(store, entries, question("lease zanzibar dividend revenue"))
        assert store.put_document(gone) == "added"
        check_scan(store, [*entries, gone], question("lease zanzibar dividend revenue"))

    def test_grouped_writes_are_read_at_once(self, store: Store) -> None:
        """Grouped writes are visible before the commit; an error does not undo them."""
        with store.group_commits() as commit:
            store.put_document(make_entry("first", ["lease "]))
            assert store.get_record("first") is not None, "read inside of the group"
            commit()
            store.put_document(make_entry("second", ["rent "]))
        with suppress(KeyError), store.group_commits():
            store.put_document(make_entry("third", ["loan "]))
            raise KeyError
        ids = [record.id for record in store.list_records()]
        assert ids == ["first", "second", "third"], "grouped writes are kept"

    def test_what_was_replaced_meanwhile_is_not_deleted(self, store: Store) -> None:
        """A deletion with an expected record has no effect if the record has changed."""
        store.put_document(make_entry("a", ["old text"]))
        known = store.get_record("a")
        assert known is not None
        store.put_document(make_entry("a", ["new text"]))
        assert store.delete_document("a", record=known) is False, "it was replaced"
        now = store.get_record("a")
        assert now is not None
        assert store.delete_document("a", record=now) is True
        assert store.delete_document("a", record=now) is False

    def test_a_document_is_stored_only_if_the_stored_one_is_accepted(self, store: Store) -> None:
        """`accept` gets the record at the moment of the write; False stores nothing."""
        seen: list[DocumentRecord | None] = []

        def refuse(record: DocumentRecord | None) -> bool:
            seen.append(record)
            return False

        assert store.put_document(make_entry("a", ["lease one\n"]), accept=refuse) == "refused"
        assert store.get_record("a") is None
        old = make_entry("a", ["lease one\n", "lease two\n"], metadata={"year": 1})
        assert store.put_document(old, accept=lambda record: record is None) == "added"
        before, found = store.get_record("a"), fingerprint(store, question("lease"))
        new = make_entry("a", ["lease three\n"])
        assert store.put_document(new, accept=refuse) == "refused"
        assert seen == [None, before]
        assert store.get_document("a") == old.document
        assert fingerprint(store, question("lease")) == found
        assert store.put_document(new, accept=lambda record: record == before) == "replaced"
        assert store.get_document("a") == new.document
        assert store.check().findings == ()

    def test_an_id_of_another_source_root_is_refused(self, store: Store) -> None:
        """A document from another source root is replaced only with `replace=True`."""
        old = make_entry("a", ["old text"], source_root="root one")
        new = make_entry("a", ["new text"], source_root="root two")
        store.put_document(old)
        with pytest.raises(ConflictError, match=r"root one.*root two") as raised:
            store.put_document(new)
        assert raised.value.code == "conflict"
        assert store.get_document("a") == old.document
        assert store.put_document(new, replace=True) == "replaced"
        assert store.get_document("a") == new.document

    def test_an_entry_that_does_not_fit_together_leaves_no_trace(self, store: Store) -> None:
        """An inconsistent entry is rejected and changes nothing."""
        entries = make_corpus()[:3]
        fill(store, entries)
        kept = make_entry("kept", ["first lease\n", "second lease\n"], metadata={"year": 1})
        store.put_document(kept)
        query = question("first second lease third")
        before = fingerprint(store, query)
        for broken in broken_entries():
            for document_id in ("kept", "new"):
                document = replace(broken.document, id=document_id)
                with pytest.raises(ValueError, match="cannot be stored"):
                    store.put_document(replace(broken, document=document))
                assert store.get_document("kept") == kept.document, "the stored document"
                assert store.get_record("new") is None
                assert store.get_chunks("new") == ()
                assert fingerprint(store, query) == before
        check_scan(store, [*entries, kept], query)

    def test_settings_are_recorded_once(self, store: Store) -> None:
        """`ensure_settings` does not change a recorded setting."""
        found = store.ensure_settings({"dimension": "99", "embedder": "a:b", "odd": "ü\x00'"})
        wanted = {**SETTINGS, "embedder": "a:b", "odd": "ü\x00'"}
        assert dict(found) == wanted, "the first value stays"
        again = store.ensure_settings({"embedder": "c:d"})
        assert dict(again) == dict(found), "the first value stays"
        assert dict(store.ensure_settings({})) == dict(found)

    def test_a_setting_is_written_again(self, store: Store) -> None:
        """`record_settings` replaces a setting, except the settings of the store format."""
        store.ensure_settings({"embedder": "a:b"})
        store.record_settings({"thresholds": "{1}", "odd": "ü\x00'"})
        store.record_settings({"thresholds": "{2}"})
        wanted = {**SETTINGS, "embedder": "a:b", "odd": "ü\x00'", "thresholds": "{2}"}
        assert dict(store.ensure_settings({"thresholds": "{3}"})) == wanted, "the last value stays"
        for name in SETTINGS:
            with pytest.raises(OptionError, match=f"'{name}'.*new knowledge base"):
                store.record_settings({"thresholds": "{4}", name: "99"})
        assert dict(store.ensure_settings({})) == wanted, "a refused call changes nothing"

    def test_a_store_without_settings_says_so(self, tmp_path: Path) -> None:
        """A store without settings rejects documents: the vector dimension is unknown."""
        store = self.open_store(tmp_path / "bare")
        with pytest.raises(StoreError, match=r"dimension.*ensure_settings|ensure_settings"):
            store.put_document(make_entry("a", ["text"]))
        assert [record.id for record in store.list_records()] == []
        store.close()

    def test_a_store_for_keywords_alone(self, tmp_path: Path) -> None:
        """A store with dimension 0 has no vectors."""
        store = self.open_store(tmp_path / "keywords")
        store.ensure_settings({**SETTINGS, "dimension": "0"})
        entries = make_corpus(dimension=0)
        fill(store, entries)
        assert store.get_embedded(entries[0].document.id) is None
        check_scan(store, entries, question("lease margin", vector=False))
        with pytest.raises(ValueError, match="dimension 0"):
            store.put_document(make_entry("a", ["text"]))
        with store.snapshot() as snapshot, pytest.raises(ValueError, match="dimension 0"):
            snapshot.scan(question("lease"))
        store.close()

    def test_filters_select_records(self, store: Store) -> None:
        """Filters select records with every operator and every type of value."""
        entries = make_corpus()
        fill(store, entries)
        for text in FILTER_TEXTS:
            where = parse_filter(text)
            expected = sorted(
                entry.document.id for entry in entries if matches(where, entry.document.metadata)
            )
            assert [record.id for record in store.list_records(where)] == expected, text

    def test_a_filter_that_cannot_mean_what_it_says_is_refused(self, store: Store) -> None:
        """An invalid filter is rejected; the message names the field and the known fields."""
        fill(store, make_corpus())
        for text, message in WRONG_FILTERS.items():
            where = parse_filter(text)
            with pytest.raises(FilterError, match=message):
                store.list_records(where)
            with store.snapshot() as snapshot, pytest.raises(FilterError, match=message):
                snapshot.scan(question("lease"), where=where)

    def test_fields_come_and_go_with_their_documents(self, store: Store) -> None:
        """A filter on a type of value that no document has is rejected.

        A filter on a field that documents had earlier finds nothing.
        """
        where = parse_filter("year = 'unknown'")
        store.put_document(make_entry("a", ["text"], metadata={"year": 2018}))
        with pytest.raises(FilterError, match="compares it with a text"):
            store.list_records(where)
        store.put_document(make_entry("b", ["text"], metadata={"year": "unknown"}))
        assert [record.id for record in store.list_records(where)] == ["b"]
        store.put_document(make_entry("b", ["text"], metadata={}))
        with pytest.raises(FilterError, match="compares it with a text"):
            store.list_records(where)
        store.delete_document("a")
        assert store.list_records(where) == [], "known earlier"
        assert [record.id for record in store.list_records(~where)] == ["b"], "no field, no match"
        with store.snapshot() as snapshot:
            assert snapshot.former_fields() == {"year"}
            assert len(snapshot.scan(question("text"), where=where).handles) == 0
        with pytest.raises(FilterError, match="unknown field 'yeer'"):
            store.list_records(parse_filter("yeer = 1"))
        store.put_document(make_entry("c", ["text"], metadata={"year": 2019}))
        with store.snapshot() as snapshot:
            assert snapshot.former_fields() == frozenset(), "known again"
        with pytest.raises(FilterError, match="compares it with a text"):
            store.list_records(where)


def broken_entries() -> Iterator[DocumentEntry]:
    """Yield entries whose parts are inconsistent."""
    entry = make_entry("new", ["first lease\n", "second lease\n", "third lease\n"])
    first, second, third = entry.chunks
    document, section = entry.document, entry.sections[0]
    assert entry.vectors is not None

    def with_chunks(*chunks: Chunk) -> DocumentEntry:
        return replace(entry, chunks=chunks)

    def with_sections(*sections: Section) -> DocumentEntry:
        return replace(entry, sections=sections)

    yield with_chunks(first, second)
    yield with_chunks(first, third, second)
    yield with_chunks(first, replace(second, text="other words!\n"), third)
    yield with_chunks(first, second, replace(third, end=third.end - 1, text=third.text[:-1]))
    yield with_chunks(first, second, replace(third, index=3))
    yield with_chunks(first, second, replace(third, section=7))
    yield with_chunks(first, second, replace(third, section=0))
    yield with_sections()
    yield with_sections(section)
    yield with_sections(section, replace(entry.sections[1], start=section.end + 1))
    yield replace(entry, vectors=None)
    yield replace(entry, vectors=entry.vectors[:2])
    yield replace(entry, vectors=entry.vectors[:, :5])
    yield replace(entry, vectors=entry.vectors[0])
    yield replace(entry, vectors=np.full_like(entry.vectors, np.nan))
    yield replace(entry, document=replace(document, text=document.text + "more"))
    yield replace(entry, document=replace(document, pages=(Page(start=0, end=999),)))
    beyond = Heading(start=30, end=999, level=1, title="third")
    yield replace(entry, document=replace(document, headings=(beyond,)))
    yield replace(entry, document=replace(document, blocks=(Block(start=3, end=3, kind="code"),)))
    yield replace(entry, document=replace(document, metadata={"year": float("nan")}))
    not_a_value: Any = [2018]
    yield replace(entry, document=replace(document, metadata={"year": not_a_value}))
    text = "half \ud800 pair"
    half = replace(first, text=text, end=len(text))
    whole = replace(section, end=len(text))
    pair = replace(document, text=text, pages=())
    yield replace(
        entry, document=pair, chunks=(half,), sections=(whole,), vectors=question_vector("a")[None]
    )
