"""Stores that break one promise each: the suite must find every one, by the check made for it."""

import inspect
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from dataclasses import replace as changed
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.broken_keepers import (
    ConditionsIgnored,
    CostsForgotten,
    HeadingsDropped,
    OriginsDropped,
    OutputsKept,
    OutputsOfABatchOverwritten,
    OutputsOverwritten,
    OutputsStripped,
    OutputsUnsorted,
    RecipesDropped,
    RootsIgnored,
    SecondOutputsDropped,
    SecondOutputsUnread,
    SectionsUnseen,
    SettingsKept,
    SettingsOverwritten,
    StatusForgotten,
    SummariesDropped,
    ThreadsByName,
    TitlesNotUpdated,
    TitleWordsDropped,
    TurnsKept,
    TurnsLost,
    UpdatesForced,
    VersionOfTheBytes,
)

from spanwise.core.ranking.scan import Moments, PassageRange, Passages, Scan, ScanQuery
from spanwise.core.ranking.scan_steps import ScanSteps, ScoreSums, TermTotals
from spanwise.core.ranking.score_statistics import MomentSums
from spanwise.core.ranking.similar_words import SimilarWord
from spanwise.filters import Filter, matches
from spanwise.models.word_vectors import word_vectors_version
from spanwise.stores.memory import MemorySnapshot, MemoryStore, StoredDocument
from spanwise.stores.port import Accept, DocumentEntry, PutOutcome, Store
from spanwise.testing.store_entries import SETTINGS
from spanwise.testing.stores import StoreConformance
from spanwise.types import Chunk, Document, DocumentRecord, WholeDocument


class BrokenSnapshot(MemorySnapshot):
    """Knows also documents that are gone."""

    ghosts: Sequence[StoredDocument] = ()


class BrokenStore(MemoryStore):
    """Hands out snapshots of another class, which remember what was deleted."""

    snapshot_class: type[BrokenSnapshot] = BrokenSnapshot

    def __init__(self) -> None:
        super().__init__()
        self.ghosts: list[StoredDocument] = []

    def delete_document(self, document_id: str, *, record: DocumentRecord | None = None) -> bool:
        stored = self._live().get(document_id)
        if stored is not None:
            self.ghosts.append(stored)
        return super().delete_document(document_id, record=record)

    @contextmanager
    def snapshot(self) -> Iterator[MemorySnapshot]:
        snapshot = self.snapshot_class(tuple(self._live().values()), self._settings)
        snapshot.ghosts = tuple(self.ghosts)
        yield snapshot


class FiltersIgnored(BrokenStore):
    """Searches all documents whatever the filter says."""

    class snapshot_class(BrokenSnapshot):  # noqa: N801
        def scan(
            self,
            query: ScanQuery,
            *,
            where: Filter | None = None,
            documents: Sequence[str] | None = None,
        ) -> Scan:
            super().scan(query, where=where, documents=documents)  # refuses what it must
            return super().scan(query, documents=documents)


class DeletesCounted(BrokenStore):
    """Deleted documents still count in the weights of terms."""

    class snapshot_class(BrokenSnapshot):  # noqa: N801
        def term_counts(self, terms: Sequence[str]) -> tuple[NDArray[np.int64], int]:
            counts, chunks = super().term_counts(terms)
            ghosts = replace(
                self._collection, documents=tuple(ghost.counted for ghost in self.ghosts)
            )
            gone, gone_chunks = ghosts.term_counts(terms)
            return counts + gone, chunks + gone_chunks


class DeletedWordsFound(BrokenStore):
    """Words of deleted documents are found by their spelling."""

    class snapshot_class(BrokenSnapshot):  # noqa: N801
        def similar_spellings(
            self, words: Sequence[str], **_: Any
        ) -> tuple[SimilarWord | None, ...]:
            documents = (*self._documents, *self.ghosts)
            every = replace(self._collection, documents=tuple(d.counted for d in documents))
            return every.similar_spellings(words)


class WordsOfAllDocuments(BrokenStore):
    """Similar words are those of all documents instead of the given ones."""

    class snapshot_class(BrokenSnapshot):  # noqa: N801
        def similar_words(
            self, handles: Sequence[int], words: Sequence[str], **_: Any
        ) -> tuple[tuple[SimilarWord, ...], ...]:
            super().similar_words(handles, words)
            return super().similar_words([d.handle for d in self._documents], words)


class WeightsOfTheScope(BrokenStore):
    """Terms are weighed by how many chunks in scope hold them."""

    class snapshot_class(BrokenSnapshot):  # noqa: N801
        def scan(
            self,
            query: ScanQuery,
            *,
            where: Filter | None = None,
            documents: Sequence[str] | None = None,
        ) -> Scan:
            whole = super().scan(query, where=where, documents=documents)
            if where is None and documents is None:
                return whole
            settings = {**SETTINGS, "dimension": str(self._dimension)}
            narrow = MemorySnapshot(self._scope(where, documents), settings).scan(query)
            return replace(
                narrow,
                all_chunks=whole.all_chunks,
                all_documents=whole.all_documents,
                term_chunks=whole.term_chunks,
                title_documents=whole.title_documents,
            )


class HalfReplaced(MemoryStore):
    """Removes the old document before it knows that the new one can be stored."""

    def put_document(
        self, entry: DocumentEntry, *, replace: bool = False, accept: Accept | None = None
    ) -> PutOutcome:
        before = self.get_record(entry.document.id)
        if before is None or not (replace or before.source_root == entry.document.source_root):
            return super().put_document(entry, replace=replace, accept=accept)
        if accept is not None and not accept(before):
            return "refused"
        self.delete_document(entry.document.id)
        super().put_document(entry, replace=replace)
        return "replaced"


class LiveSnapshots(MemoryStore):
    """A snapshot sees what was written after it was opened."""

    @contextmanager
    def snapshot(self) -> Iterator[MemorySnapshot]:
        store = self

        class Live(MemorySnapshot):
            def __getattribute__(self, name: str) -> Any:
                if name in ("scan", "chunks", "record"):
                    living = tuple(store._live().values())
                    return getattr(MemorySnapshot(living, store._settings), name)
                return super().__getattribute__(name)

        yield Live(tuple(self._live().values()), self._settings)


class StaleSnapshots(MemoryStore):
    """A search does not see the latest write."""

    def __init__(self) -> None:
        super().__init__()
        self._before: tuple[StoredDocument, ...] = ()

    def _keep(self, stored: StoredDocument) -> None:
        self._before = tuple(self._documents.values())
        super()._keep(stored)

    @contextmanager
    def snapshot(self) -> Iterator[MemorySnapshot]:
        self._live()
        yield MemorySnapshot(self._before, self._settings)


class LastChunkLost(MemoryStore):
    """Documents of more than one chunk lose their last one."""

    def get_chunks(self, document_id: str) -> tuple[Chunk, ...]:
        chunks = super().get_chunks(document_id)
        return chunks[:-1] if len(chunks) > 1 else chunks


class TiesByName(BrokenStore):
    """Equal scores go by the document id instead of its age."""

    class snapshot_class(BrokenSnapshot):  # noqa: N801
        def _scope(
            self, where: Filter | None, documents: Sequence[str] | None
        ) -> tuple[StoredDocument, ...]:
            scope = super()._scope(where, documents)
            return tuple(sorted(scope, key=lambda stored: stored.record.id))


class TitlesForgotten(BrokenStore):
    """Title words do not count."""

    class snapshot_class(BrokenSnapshot):  # noqa: N801
        def scan(
            self,
            query: ScanQuery,
            *,
            where: Filter | None = None,
            documents: Sequence[str] | None = None,
        ) -> Scan:
            untitled = [
                replace(stored, counted=replace(stored.counted, title_terms=frozenset()))
                for stored in self._documents
            ]
            settings = {**SETTINGS, "dimension": str(self._dimension)}
            bare = MemorySnapshot(untitled, settings)
            return bare.scan(query, where=where, documents=documents)


class MomentsOfTheHits(BrokenStore):
    """Mean and deviation are those of the hits, not of the scope."""

    class snapshot_class(BrokenSnapshot):  # noqa: N801
        def scan(
            self,
            query: ScanQuery,
            *,
            where: Filter | None = None,
            documents: Sequence[str] | None = None,
        ) -> Scan:
            scan = super().scan(query, where=where, documents=documents)
            mean, deviation = MomentSums.of(scan.hit_keywords).result()
            return replace(scan, keyword=Moments(mean, deviation))


class PassagesSorted(BrokenStore):
    """Ranges come back in order of handle instead of as asked for."""

    class snapshot_class(BrokenSnapshot):  # noqa: N801
        def passages(
            self,
            ranges: Sequence[PassageRange],
            *,
            terms: Sequence[str],
            vectors: NDArray[np.float32],
        ) -> Passages:
            ordered = sorted(ranges, key=lambda wanted: (wanted.handle, wanted.start))
            return super().passages(ordered, terms=terms, vectors=vectors)


class ReplacedDeleted(MemoryStore):
    """A document is deleted although it was replaced since the caller looked."""

    def delete_document(self, document_id: str, *, record: DocumentRecord | None = None) -> bool:
        _ = record
        return super().delete_document(document_id)


class SectionsOfAnotherMoment(MemoryStore):
    """A whole document comes with what was read of its sections before."""

    def get_whole(self, document_id: str) -> WholeDocument | None:
        whole = super().get_whole(document_id)
        return None if whole is None else replace(whole, sections=whole.sections[:1])


class LinesNormalised(MemoryStore):
    """Line ends become those of this system."""

    def get_document(self, document_id: str) -> Document | None:
        document = super().get_document(document_id)
        if document is None:
            return None
        return replace(document, text=document.text.replace("\r\n", "\n"))


class NumbersForBooleans(MemoryStore):
    """Metadata comes back as a database without booleans gives it."""

    def get_document(self, document_id: str) -> Document | None:
        document = super().get_document(document_id)
        if document is None:
            return None
        metadata = {
            name: int(value) if isinstance(value, bool) else value
            for name, value in document.metadata.items()
        }
        return replace(document, metadata=metadata)


class UnknownFieldsMatchNothing(MemoryStore):
    """A filter on a field that no document has leaves nothing, in silence."""

    def list_records(self, where: Filter | None = None) -> list[DocumentRecord]:
        records = super().list_records()
        if where is None:
            return records
        return [record for record in records if matches(where, record.metadata)]


class LanguagesForgotten(MemoryStore):
    """Makes the terms of all documents in English."""

    def put_document(
        self, entry: DocumentEntry, *, replace: bool = False, accept: Accept | None = None
    ) -> PutOutcome:
        return super().put_document(changed(entry, language=""), replace=replace, accept=accept)


class CountsOfTheOthersIgnored(BrokenStore):
    """Weighs terms by its own documents in a search of several stores."""

    class snapshot_class(BrokenSnapshot):  # noqa: N801
        def start_scan(self, query: ScanQuery, **scope: Any) -> ScanSteps:
            steps: Any = super().start_scan(query, **scope)
            own, score = steps.count(), steps.score
            steps.score = lambda _: score(own)
            return steps  # type: ignore[no-any-return]


class ScoresOfTheOthersIgnored(BrokenStore):
    """Fuses scores by its own deviations in a search of several stores."""

    class snapshot_class(BrokenSnapshot):  # noqa: N801
        def start_scan(self, query: ScanQuery, **scope: Any) -> ScanSteps:
            steps: Any = super().start_scan(query, **scope)
            score, find = steps.score, steps.find
            own: list[ScoreSums] = []

            def scored(totals: TermTotals) -> ScoreSums:
                own.append(score(totals))
                return own[0]

            steps.score = scored
            steps.find = lambda _: find(own[0])
            return steps  # type: ignore[no-any-return]


class SpellingsOfOwnCounts(BrokenStore):
    """Chooses spellings by its own documents in a search of several stores."""

    class snapshot_class(BrokenSnapshot):  # noqa: N801
        def similar_spellings(
            self, words: Sequence[str], **_: Any
        ) -> tuple[SimilarWord | None, ...]:
            return super().similar_spellings(words)


class WordsApart(BrokenStore):
    """Weighs each form of a word on its own."""

    class snapshot_class(BrokenSnapshot):  # noqa: N801
        def scan(
            self,
            query: ScanQuery,
            *,
            where: Filter | None = None,
            documents: Sequence[str] | None = None,
        ) -> Scan:
            return super().scan(replace(query, words=()), where=where, documents=documents)


class SignalsKept(MemoryStore):
    """Documents keep the signals of the packs before."""

    def record_packs(self, packs: str, make: Any) -> None:
        super().record_packs(packs, lambda _: {})


class SignalsShifted(BrokenStore):
    """Ranges give the signals of the first chunks."""

    class snapshot_class(BrokenSnapshot):  # noqa: N801
        def signals(
            self, ranges: Sequence[PassageRange], landmarks: Sequence[str]
        ) -> NDArray[np.float32]:
            first = [PassageRange(span.handle, 0, span.end - span.start) for span in ranges]
            return super().signals(first, landmarks)


class ContextsNotSearched(MemoryStore):
    """What places a chunk in its document is kept, and not searched."""

    def put_document(
        self, entry: DocumentEntry, *, replace: bool = False, accept: Accept | None = None
    ) -> PutOutcome:
        bare = tuple(changed(chunk, context="") for chunk in entry.chunks)
        outcome = super().put_document(changed(entry, chunks=bare), replace=replace, accept=accept)
        if outcome == "refused":
            return outcome
        stored = self._documents[entry.document.id]
        kept = changed(stored, chunks=tuple(entry.chunks))
        self._documents = {**self._documents, entry.document.id: kept}
        return outcome


class StillOpen(MemoryStore):
    """Answers after it was closed."""

    def close(self) -> None:
        """Do nothing."""


class OptimisedIsYounger(MemoryStore):
    """Optimising gives documents a new age."""

    def compact(self) -> None:
        for document_id in sorted(self._live(), reverse=True):
            self._keep(self._documents[document_id])


class TornSnapshots(MemoryStore):
    """A search may see a document that is not whole yet, when threads write."""

    def _keep(self, stored: StoredDocument) -> None:
        half = replace(
            stored,
            handle=self._next_handle,
            chunks=stored.chunks[:1],
            vectors=stored.vectors[:1],
            counted=replace(
                stored.counted,
                handle=self._next_handle,
                frequencies=stored.counted.frequencies[:1],
                headers=stored.counted.headers[:1],
            ),
        )
        self._documents = {**self._documents, stored.record.id: half}
        self.torn()
        super()._keep(stored)

    def torn(self) -> None:
        """Give other threads time to look."""

        time.sleep(0.001)


class HeadersIgnored(MemoryStore):
    """Titles and summaries of sections are not searched."""

    def _keep(self, stored: StoredDocument) -> None:
        nothing = tuple(dict[str, int]() for _ in stored.chunks)
        super()._keep(replace(stored, counted=replace(stored.counted, headers=nothing)))


class GroupsTakenBack(MemoryStore):
    """An error in a group takes back what was written in it."""

    @contextmanager
    def group_commits(self) -> Iterator[Callable[[], None]]:
        before = self._documents
        try:
            yield lambda: None
        except BaseException:
            self._documents = before
            raise


BROKEN: dict[type[MemoryStore], tuple[str, str]] = {
    FiltersIgnored: ("test_filters_narrow_the_scope_and_nothing_else", "chunks in scope"),
    DeletesCounted: ("test_a_deleted_document_is_gone", "term_counts"),
    DeletedWordsFound: ("test_similar_words_are_those_of_the_definition", "spelling of"),
    WeightsOfTheScope: ("test_named_documents_narrow_the_scope", "hits, ordered|keyword scores"),
    HalfReplaced: (
        "test_an_entry_that_does_not_fit_together_leaves_no_trace",
        "the stored document",
    ),
    LiveSnapshots: ("test_a_snapshot_sees_one_moment", "term_counts"),
    StaleSnapshots: ("test_writes_are_read_at_once", "term_counts"),
    LastChunkLost: ("test_chunks_and_sections_come_back", "all chunks"),
    TiesByName: ("test_ties_go_to_the_older_document_then_the_earlier_chunk", "hits, ordered"),
    TitlesForgotten: ("test_a_title_weighs_where_no_chunk_does", "titles with each term"),
    MomentsOfTheHits: ("test_keyword_scores_are_those_of_the_definition", "moments of the keyword"),
    PassagesSorted: ("test_passages_are_the_raw_material", "lengths in the requested order"),
    SectionsUnseen: ("test_openings_are_where_sections_begin", "openings of ranges"),
    ReplacedDeleted: ("test_what_was_replaced_meanwhile_is_not_deleted", "it was replaced"),
    ConditionsIgnored: (
        "test_a_document_is_stored_only_if_the_stored_one_is_accepted",
        "'added' == 'refused'",
    ),
    RootsIgnored: ("test_an_id_of_another_source_root_is_refused", "DID NOT RAISE .*Conflict"),
    StatusForgotten: (
        "test_a_record_says_its_version_and_whether_it_is_whole",
        "status of each",
    ),
    VersionOfTheBytes: (
        "test_a_record_says_its_version_and_whether_it_is_whole",
        "version of the text",
    ),
    HeadingsDropped: ("test_a_document_comes_back_as_it_went_in", "headings"),
    SectionsOfAnotherMoment: ("test_a_whole_document_is_of_one_moment", "sections"),
    LinesNormalised: ("test_a_document_comes_back_as_it_went_in", "text"),
    NumbersForBooleans: ("test_a_document_comes_back_as_it_went_in", "types of the metadata"),
    UnknownFieldsMatchNothing: (
        "test_a_filter_that_cannot_mean_what_it_says_is_refused",
        "DID NOT RAISE .*FilterError",
    ),
    SettingsOverwritten: ("test_settings_are_recorded_once", "the first value stays"),
    LanguagesForgotten: (
        "test_terms_are_those_of_the_language_of_the_document",
        "term_counts",
    ),
    WordsApart: (
        "test_terms_are_those_of_the_language_of_the_document",
        "hits, ordered|keyword scores",
    ),
    SettingsKept: ("test_a_setting_is_written_again", "the last value stays"),
    SignalsKept: (
        "test_packs_are_recorded_with_the_signals_of_all",
        "q/other",
    ),
    SignalsShifted: ("test_signals_come_back_chunk_by_chunk", "signals of ranges"),
    SummariesDropped: ("test_chunks_and_sections_come_back", "all sections"),
    ContextsNotSearched: ("test_the_context_of_a_chunk_is_searched", "term_counts"),
    RecipesDropped: ("test_a_record_tells_what_is_known", "recipe"),
    OutputsOverwritten: ("test_the_first_output_under_a_key_stays", "the first one stays"),
    GroupsTakenBack: ("test_grouped_writes_are_read_at_once", "grouped writes are kept"),
    SecondOutputsDropped: ("test_several_outputs_are_put_and_read_at_once", "all at once"),
    SecondOutputsUnread: ("test_several_outputs_are_put_and_read_at_once", "all at once"),
    OutputsOfABatchOverwritten: (
        "test_the_first_of_several_outputs_of_a_key_stays",
        "the first of both",
    ),
    OutputsKept: ("test_outputs_are_counted_and_forgotten", "forgotten"),
    TitleWordsDropped: ("test_an_entry_is_read_as_it_was_stored", "part of the entry"),
    OutputsUnsorted: ("test_outputs_are_listed_in_pages", "order of the keys"),
    OutputsStripped: ("test_an_output_comes_back_as_it_was_put", "as it was put"),
    TurnsLost: ("test_threads_append_turns_at_once", "its own turn|none is lost"),
    TurnsKept: ("test_a_deleted_conversation_is_gone", "begins anew"),
    CostsForgotten: ("test_a_conversation_comes_back_as_it_was_had", "every field"),
    ThreadsByName: ("test_conversations_are_listed_by_their_latest_turn", "the latest first"),
    TitlesNotUpdated: ("test_a_new_title_is_searched_at_once", "titles with each term"),
    OriginsDropped: ("test_metadata_changes_and_the_text_stays", "record"),
    UpdatesForced: ("test_what_was_changed_meanwhile_is_not_changed", "replaced"),
    StillOpen: ("test_a_closed_store_says_so", "DID NOT RAISE .*StoreError"),
    OptimisedIsYounger: (
        "test_compacting_and_reopening_change_no_bit",
        "the same bits after compact",
    ),
    CountsOfTheOthersIgnored: ("test_stores_together_are_scanned_like_one", "term_counts"),
    ScoresOfTheOthersIgnored: ("test_stores_together_are_scanned_like_one", "chunks in scope"),
    SpellingsOfOwnCounts: (
        "test_the_most_frequent_spelling_of_all_stores_is_found",
        "counted over all stores",
    ),
    HeadersIgnored: ("test_titles_and_summary_of_a_section_are_searched", "term_counts"),
    TornSnapshots: ("test_threads_write_and_read_at_once", "chunks of the record|every chunk"),
}
"""And the check that was made to find each, with what it says."""

if word_vectors_version():
    BROKEN[WordsOfAllDocuments] = (
        "test_similar_words_are_those_of_the_definition",
        "words similar to",
    )


def run_check(store_class: type[MemoryStore], name: str, path: Path) -> None:
    """Run one check of the suite on a store."""

    class Suite(StoreConformance):
        on_disk = False

        def open_store(self, path: Path) -> Store:
            return store_class()

    check = getattr(Suite(), name)
    wanted = inspect.signature(check).parameters
    given: dict[str, object] = {"tmp_path": path} if "tmp_path" in wanted else {}
    if "store" in wanted:
        store = store_class()
        store.ensure_settings(SETTINGS)
        given["store"] = store
    check(**given)


@pytest.mark.parametrize("name", sorted({name for name, _ in BROKEN.values()}))
def test_the_reference_store_passes(name: str, tmp_path: Path) -> None:
    """The way checks are run here finds nothing where nothing is broken."""
    run_check(MemoryStore, name, tmp_path)


@pytest.mark.parametrize("store_class", BROKEN, ids=lambda store_class: store_class.__name__)
def test_a_broken_store_is_found(store_class: type[MemoryStore], tmp_path: Path) -> None:
    """By the check that was made for it, for its own reason."""
    name, message = BROKEN[store_class]
    with pytest.raises((AssertionError, pytest.fail.Exception), match=message):
        run_check(store_class, name, tmp_path)
