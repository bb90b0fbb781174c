"""Names, years and matters that a question mentions and the documents lack.

Rules:
    A name is a run of capitalised words, or a word with an inner capital ("iPhone"). The first word
    of a sentence is a name only with an inner capital, as a possessive, or if a title contains it.
    The first word of an English question is also a name if no document contains it and it asks for
    nothing ("Summarize"); in a question of keywords also in lower case ("tesla revenue 2023").
    "of" continues a name if no title contains the next word ("University of Chicago").
    A subject is a name that occurs in titles. The question is then about the documents with all
    subjects in their titles, or else with any subject; without a subject, about the shown ones.
    A name is missing if these documents contain none of its words. Without a subject this needs
    weak evidence, or shown documents that are all dated reports; of these, a company that is the
    agent of the question is also missing if they mention it only in passing.
    A year is missing if no shown text has it and no shown document is of a year near it. Documents
    without a year in title, id or metadata are not examined.
    A subject is missing if all shown documents are such reports and none is of a subject.
    A matter is missing if it is a topic of other documents, a word that few documents use often,
    and in no document of the subjects, which must be dated reports.
    A name that differs from a name in the shown text by one letter may be misspelt: not missing.
    A question with another rare name that the documents contain is probably answered by them, with
    other words for the missing one ("Tokyo" for the government of Japan): no name is missing.

The counts of the search decide, so nothing else is read. In doubt nothing is missing: names are
examined only in languages that capitalise them alone and do not inflect them, and not in headlines.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from spanwise.core.text.language_traits import FUNCTION_WORDS
from spanwise.core.text.languages import detect_language, question_language
from spanwise.core.text.terms import content_words, text_terms

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanwise.core.ranking.abstention import EvidenceAssessment
    from spanwise.core.ranking.features import Rows
    from spanwise.core.ranking.question import Question
    from spanwise.core.ranking.scan import Passages, Scan

_NAME_LANGUAGES = frozenset(("ca", "da", "en", "es", "fr", "it", "nl", "no", "pt", "sv"))
_GENERAL = frozenset(
    """january february march april may june july august september october november december jan
    feb mar apr jun jul aug sep sept oct nov dec monday tuesday wednesday thursday friday saturday
    sunday today yesterday christmas easter ceo cfo coo cto gaap eps esg usa usd eur gbp inc
    corp corporation company llc ltd plc group mrs q1 q2 q3 q4 european american german french dutch
    swiss greek thai czech arab ok
    """.split()
)
"""Capitalised words that name no company, person, product or document, in lower case."""
_ADJECTIVE = re.compile(r"(?:ish|ese|ian|ean|can)s?\Z")  # "Swedish", "Japanese", "Italian"
_PERIOD = re.compile(r"(?:fy|cy|q|h)\d+\w*")  # "FY2022", "H1"
_MIN_LETTERS, _ACRONYM = 3, 5
_REPORT = re.compile(
    r"(?<![^\W_])(?:10-?[kq]t?|8-?k|6-?k|20-?f|40-?f|annual|quarterly|interim|earnings|report)"
    r"(?![^\W_])",
    re.IGNORECASE,
)
CONTRACT = re.compile(
    r"(?<![^\W_])(?:ex-?\d|exhibit|agreement|contract|confidential|disclosure)", re.IGNORECASE
)
"""Words for kinds of documents. They are not names, although they are often capitalised."""
_ARTICLE = re.compile(r"\b(?:the|an?|its|their|our|this|that) \Z", re.IGNORECASE)
_PREPOSITION = re.compile(
    r"\b(?:in|on|at|from|to|into|for|with|by|under|against|within|across|between|per|and|or|as"
    r"|about|since|until|after|before|during) \Z",
    re.IGNORECASE,
)
"""Words before a name that is not the agent of its sentence, unless it is a possessive."""
POSSESSIVE = re.compile(r"(?:['’]s|(?<=s)['’])(?!\w)")
_OF = "of"
_JOINT = re.compile(r" ?(?:[-&/] ?|\.)?")
_JOINT_OR_OF = re.compile(rf"{_JOINT.pattern}| {_OF} ")
_SENTENCE_END = re.compile(r"[.?!:;]\W*\s|\n")
_GAP_CHARS = 100  # examined between two words; the time grows with the square
_FEW_WORDS, _HEADLINE = 4, 0.7  # most capitalised words of a sentence, as a share

YEAR = re.compile(
    r"(?<![\d.,$€£%])(?<!\d-)(?:FY)?((?:19|20)\d\d)(?:[01]\d[0-3]\d)?(?![\d%]|[.,]\d|-\d{3})"
)
"""A year, also of a fiscal year ("FY2018") or at the start of a date; the group is the year."""
_YEARS_BEFORE, _YEARS_AFTER = 2, 1  # of a report: comparative figures, and an outlook

PASSING = 0.01  # largest share of the chunks of a document that mention something in passing
_RARE = 0.002  # largest share of all chunks with a rare name
_COMMON = 0.02  # least share of all chunks with words that name nothing in particular
_TOPIC_CHUNKS, _TOPIC_SHARE = 5.5, 0.015
"""A topic is in so many chunks of the documents with it on average, and has this share of one."""
_TOPIC_DOCUMENTS = 0.55  # largest share of documents with a topic
_FORM_WORDS = frozenset("round rounded rounding decimal decimals digits".split())
"""Words about the form of an answer ("round to one decimal place"), which are never a matter."""
_LIKELY = 0.5  # with less evidence, most words of a question are not found: it may be reworded
_MIN_DOCUMENTS = 10  # fewer documents say little about what is a topic
_MAX_NAMED = 3  # warnings of a kind, and documents in a warning

_MAX_KEYWORDS = 6
_REQUESTS = frozenset(
    """account analyse analyze assess break calculate check cite classify compare compute confirm
    consider contrast count define describe detail determine discuss elaborate enumerate estimate
    evaluate examine explain extract fetch find get gimme give highlight hows identify indicate
    list locate look mention name outline please pls point present provide quantify quote rank
    recall report retrieve review search see show specify state sum summarise summarize tell
    thanks translate understand verify whats wheres whos write""".split()
)
"""Words that ask for something at the beginning of a question, in lower case."""

_MIN_SPELT = 4  # shorter words are near to many others
_CAPITALISED = re.compile(r"\b[^\W\d_a-z][^\W_]{2,}")
_JOINED = re.compile(r"[\W_]+")


class ShownDocument(NamedTuple):
    """A document of which a result shows text."""

    position: int
    """Position of the document in the scan."""
    names: str
    """Title, id and values of metadata fields."""
    years: frozenset[int]
    """Years of the document according to title, id and metadata; empty if it is undated."""
    text: str
    """Text that is shown, with headers."""

    @property
    def is_report(self) -> bool:
        """Whether it is a dated report of a company, such as an annual report."""
        is_report = _REPORT.search(self.names) is not None
        return bool(self.years) and is_report and not CONTRACT.search(self.names)


class MissingThing(NamedTuple):
    """A name, a year or a matter that a question mentions and the documents lack."""

    text: str
    """Words of the question."""
    subjects: tuple[str, ...] = ()
    """Names of the documents that the question is about; empty for the shown documents."""
    years: tuple[int, ...] = ()
    """Years of the shown documents, ascending; empty unless the missing thing is a year."""
    elsewhere: tuple[int, ...] = ()
    """Positions in the scan of documents that mention it, at most 3, most chunks first."""

    def warning(self, names: Sequence[str]) -> str:
        """Return a warning about the missing thing.

        Args:
            names: Ids of the documents at `elsewhere`.
        """
        about = " or ".join(self.subjects)
        if self.years:
            return f"{f'the shown documents of {about}' if about else 'the shown documents'} " + (
                f"cover {_listed_years(self.years)}, not {self.text}"
            )
        found = f"; mentioned in: {', '.join(names)}" if names else ""
        if about:
            return f'no document of {about} mentions "{self.text}"{found}'
        return f'no shown document is about "{self.text}"{found}'


def _listed_years(years: Sequence[int]) -> str:
    """Return years as a text: "2019 to 2021" if none is absent, otherwise "2018, 2021"."""
    if len(years) > 1 and years[-1] - years[0] == len(years) - 1:
        return f"{years[0]} to {years[-1]}"
    return ", ".join(map(str, years))


def find_missing(
    question: Question,
    scan: Scan,
    documents: Sequence[ShownDocument],
    *,
    passages: Passages,
    rows: Rows,
    assessment: EvidenceAssessment,
) -> tuple[MissingThing, ...]:
    """Return what a question mentions and the documents lack, in the order of the rules.

    Args:
        question: Question with its search terms.
        scan: Result of the search, with a column for each term.
        documents: Shown documents.
        passages: Chunks that were read.
        rows: Layout of these chunks.
        assessment: Assessment of the evidence for the question.
    """
    if question.original_text or not documents:
        return ()
    chunks = (passages.impacts > 0, rows.documents)
    search = _Search(question, scan, documents, chunks)
    return (
        *islice(search.subjects(), _MAX_NAMED),
        *islice(search.names(is_weak=assessment.is_weak), _MAX_NAMED),
        *islice(search.years(), _MAX_NAMED),
        *islice(search.matters() if assessment.evidence >= _LIKELY else (), _MAX_NAMED),
    )


def _language(question: Question) -> str:
    """Return the language of a question, which may be none of the documents' languages."""
    text = question.text
    language = detect_language(text) or question_language(text, {"de", question.language})
    foreign = {word.lower() for word in content_words(text)}
    if foreign.isdisjoint(FUNCTION_WORDS.get(language, foreign)):
        return question.language  # words such as "was" and "in" are English as well
    return language


class QuestionWord(NamedTuple):
    """A word of the question."""

    start: int
    end: int
    column: int
    """Column of its term in the scan; -1 if it has none."""
    is_name: bool
    is_titled: bool
    """Whether a title contains it."""


class QuestionWords:
    """Words of a question, and the names among them."""

    def __init__(self, question: Question, scan: Scan) -> None:
        columns = {term: column for column, term in enumerate(question.terms)}
        self.terms = question.terms
        self.text = unicodedata.normalize("NFC", question.text)
        self.words: list[QuestionWord] = []
        keywords = len(question.words) <= _MAX_KEYWORDS and None not in question.stems
        end = 0
        for word, stem in zip(question.words, question.stems, strict=True):
            start = self.text.index(word, end)
            gap, end = self.text[end:start], start + len(word)
            column = columns.get(stem, -1) if stem is not None else -1
            is_titled = column >= 0 and bool(scan.document_titles[:, column].any())
            is_first = not self.words or _SENTENCE_END.search(gap[:_GAP_CHARS]) is not None
            is_unmarked = is_first and not is_titled and not self.is_possessive(end)
            is_name = column >= 0 and _is_name(word, is_first=is_unmarked)
            if column >= 0 and not self.words and question.language == "en":
                is_known = is_titled or scan.term_chunks[column] > 0
                is_name |= not is_known and _may_name(word, lower=keywords)
            self.words.append(QuestionWord(start, end, column, is_name, is_titled))

    def has_case(self) -> bool:
        """Return whether a capital letter marks a name, unlike in a headline."""
        letters = [word for word in map(self.shown, self.words) if word.isalpha()]
        capitals = sum(word[0].isupper() for word in letters)
        return len(letters) <= _FEW_WORDS or capitals <= _HEADLINE * len(letters)

    def shown(self, first: QuestionWord, last: QuestionWord | None = None) -> str:
        """Return a word, or the text from one word to another, as the question has it."""
        return self.text[first.start : (last or first).end]

    def is_possessive(self, end: int) -> bool:
        """Return whether a possessive ending follows at a place."""
        return POSSESSIVE.match(self.text, end) is not None

    def names(self) -> list[list[QuestionWord]]:
        """Return the names, each as its words; a possessive ends a name."""
        names: list[list[QuestionWord]] = []
        last: QuestionWord | None = None
        for word in self.words if self.has_case() else ():
            if word.is_name and self.is_specific(word):
                gap = "" if last is None else self.text[last.end : word.start]
                joint = _JOINT if word.is_titled else _JOINT_OR_OF
                if last is not None and joint.fullmatch(gap):
                    names[-1].append(word)
                else:
                    names.append([word])
                last = word
            elif self.shown(word) != _OF:
                last = None
        return [name for name in names if len(name) > 1 or not self._is_plain(name[0])]

    def _is_plain(self, word: QuestionWord) -> bool:
        """Return whether a word is an adjective of a place, or too short for a name."""
        return len(self.shown(word)) < _MIN_LETTERS or self.is_adjective(word)

    def is_adjective(self, word: QuestionWord) -> bool:
        """Return whether a word has the ending of an adjective of a place."""
        return _ADJECTIVE.search(self.shown(word)) is not None

    def is_specific(self, word: QuestionWord) -> bool:
        """Return whether a capitalised word may name something: no month, period or acronym."""
        spelt = self.shown(word)
        if spelt.casefold() in _GENERAL or _PERIOD.fullmatch(spelt.casefold()):
            return False
        is_acronym = spelt.isupper() and len(spelt) <= _ACRONYM
        return not is_acronym or word.is_titled or self.is_possessive(word.end)

    def is_agent(self, name: Sequence[QuestionWord]) -> bool:
        """Return whether a name is likely the company that the question is about."""
        before = self.text[: name[0].start]
        if _ARTICLE.search(before):
            return False
        return self.is_possessive(name[-1].end) or not _PREPOSITION.search(before)


def _is_name(word: str, *, is_first: bool) -> bool:
    """Return whether a word is written as a name."""
    if len(word) == 1 or word[0].isdigit():
        return False
    return any(map(str.isupper, word[1:] if is_first else word))


def _may_name(word: str, *, lower: bool) -> bool:
    """Return whether the first word of a question may be a name, if no document contains it.

    Args:
        word: The word.
        lower: Whether a name may be in lower case.
    """
    is_long = word.isalpha() and len(word) > _MIN_LETTERS
    return is_long and (lower or word[0].isupper()) and word.lower() not in _REQUESTS


class _Search:
    """Search for the missing things of one question; D documents, T terms."""

    def __init__(
        self,
        question: Question,
        scan: Scan,
        documents: Sequence[ShownDocument],
        chunks: tuple[NDArray[np.bool_], NDArray[np.int64]],
    ) -> None:
        self._question, self._scan = question, scan
        self._words = words = QuestionWords(question, scan)
        self._documents = documents
        self._chunk_contains, self._chunk_documents = chunks  # (T, n) and (n,)
        self._is_shown = np.zeros(len(scan.handles), dtype=bool)
        self._is_shown[[document.position for document in documents]] = True
        self._names = words.names()
        titled = {id(name): self._titled(name) for name in self._names}
        self._subjects = [name for name in self._names if titled[id(name)].any()]
        self._about: NDArray[np.bool_] = self._is_shown
        if self._subjects:
            by_subject = np.array([titled[id(name)] for name in self._subjects])
            common = by_subject.all(axis=0)
            self._about = np.asarray(common if common.any() else by_subject.any(axis=0))

    @cached_property
    def _contains(self) -> NDArray[np.bool_]:
        """Whether each document contains each term, (D, T)."""
        contains: NDArray[np.bool_] = (self._scan.document_terms > 0) | self._scan.document_titles
        for document in self._documents:
            named = frozenset(text_terms(document.names))
            contains[document.position] |= [term in named for term in self._words.terms]
        return contains

    @cached_property
    def _are_reports(self) -> bool:
        """Whether all shown documents are reports."""
        return all(document.is_report for document in self._documents)

    def _titled(self, name: Sequence[QuestionWord]) -> NDArray[np.bool_]:
        """Return the documents with all words of a name in title or id; none for "Agreement"."""
        titles = self._scan.document_titles[:, [word.column for word in name]]
        is_kind = CONTRACT.search(self._words.shown(name[0], name[-1])) is not None
        return np.asarray(titles.all(axis=1)) & (not is_kind)

    def _shown_subjects(self) -> tuple[str, ...]:
        shown = [self._words.shown(name[0], name[-1]) for name in self._subjects]
        return tuple(dict.fromkeys(shown))

    def subjects(self) -> Iterator[MissingThing]:
        """Yield the subjects, if none of their documents is shown."""
        if self._are_reports and not (self._is_shown & self._about).any():
            for name in self._subjects:
                text = self._words.shown(name[0], name[-1])
                yield self._missing(text, [word.column for word in name])._replace(subjects=())

    def names(self, *, is_weak: bool) -> Iterator[MissingThing]:
        """Yield the missing names."""
        others = [name for name in self._names if name not in self._subjects]
        if not others or _language(self._question) not in _NAME_LANGUAGES:
            return
        if self._has_rare_name(others):
            return
        for name in others:
            columns = sorted({word.column for word in name})
            if self._subjects:
                is_missing = self._is_absent(name, columns)
            elif self._are_reports:
                is_missing = self._is_in_passing(columns) and self._words.is_agent(name)
            else:
                is_missing = is_weak and not self._contains[:, columns].any()
            text = self._words.shown(name[0], name[-1])
            if is_missing and not self._is_near_name(text, columns):
                yield self._missing(text, columns)

    def _is_absent(self, name: Sequence[QuestionWord], columns: Sequence[int]) -> bool:
        """Return whether the documents of the subjects lack a name.

        Single words of the name count if the shown text has them as a name ("President" of
        "President Biden").
        """
        is_common = self._scan.term_chunks[columns].min() > _COMMON * self._scan.all_chunks
        if is_common or self._has_name(columns):
            return False
        contained = self._contains[self._about][:, columns]
        parts = {
            self._words.shown(word)
            for word in name
            if contained[:, columns.index(word.column)].any()
        }
        return not any(
            re.search(rf"\b{re.escape(part)}\b", document.text)
            for part in sorted(parts)
            for document in self._documents
        )

    def _is_in_passing(self, columns: Sequence[int]) -> bool:
        """Return whether no shown document is about the words, or has them in its title."""
        scan, shown = self._scan, self._is_shown
        chunks = scan.document_terms[shown][:, columns].min(axis=1)
        is_titled = scan.document_titles[shown][:, columns].any()
        return bool((chunks <= PASSING * scan.document_chunks[shown]).all()) and not is_titled

    def _has_name(self, columns: Sequence[int]) -> bool:
        """Return whether the documents have a name.

        The words of a rare name must be in one chunk that was read, or in a title.
        """
        scan, about = self._scan, self._about
        contained: NDArray[np.bool_] = np.asarray(self._contains[:, columns].all(axis=1))
        if len(columns) > 1 and scan.term_chunks[columns].min() <= _RARE * scan.all_chunks:
            contained = np.asarray(scan.document_titles[:, columns].all(axis=1))
            together = self._chunk_contains[columns].all(axis=0)
            contained[self._chunk_documents[together]] = True
        return bool((contained & about).any())

    def _has_rare_name(self, names: Sequence[Sequence[QuestionWord]]) -> bool:
        """Return whether the documents of the subjects have one of some names, and it is rare."""
        marked = [
            [word]
            for word in self._words.words
            if word.column >= 0
            and not self._words.shown(word).isdigit()
            and any(map(str.isdigit, self._words.shown(word)))
        ]
        most = _RARE * self._scan.all_chunks
        for name in (*names, *marked) if self._subjects else ():
            columns = sorted({word.column for word in name})
            if self._scan.term_chunks[columns].min() <= most and self._has_name(columns):
                return True
        return False

    def _is_near_name(self, name: str, columns: Sequence[int]) -> bool:
        """Return whether a shown name is nearly the same.

        It has other spaces, is one letter apart, or the name is an abbreviation of a title.
        """
        written = _JOINED.sub("", name)
        joined = written.casefold()
        for document in self._documents:
            title = _JOINED.sub("", document.names).casefold()
            if joined in title or _abbreviates(written, document.names):
                return True
        if len(joined) < _MIN_SPELT or self._contains[self._is_shown][:, columns].all(1).any():
            return False
        shown = "\n".join(document.text for document in self._documents)
        if joined in _JOINED.sub("", shown).casefold():
            return True
        spelt = {word.casefold() for word in _CAPITALISED.findall(shown)}
        return any(_is_one_edit(joined, word) for word in spelt)

    def years(self) -> Iterator[MissingThing]:
        """Yield the missing years."""
        shown = [document for document in self._documents if self._about[document.position]]
        covered = sorted({year for document in shown for year in document.years})
        if not shown or not all(document.years for document in shown):
            return
        for mentioned in dict.fromkeys(YEAR.findall(self._words.text)):
            year = int(mentioned)
            is_near = any(y - _YEARS_BEFORE <= year <= y + _YEARS_AFTER for y in covered)
            if is_near or any(mentioned in document.text for document in shown):
                continue
            if not self._is_year_of_another(mentioned):
                yield MissingThing(
                    text=mentioned, subjects=self._shown_subjects(), years=tuple(covered)
                )

    def _is_year_of_another(self, year: str) -> bool:
        """Return whether a document that may be meant, but is not shown, has the year as title."""
        if year not in self._words.terms:
            return False
        titles = self._scan.document_titles[:, self._words.terms.index(year)]
        return bool((titles & self._about if self._subjects else titles).any())

    def matters(self) -> Iterator[MissingThing]:
        """Yield the missing matters."""
        scan = self._scan
        if not (self._subjects and self._are_reports and len(scan.handles) >= _MIN_DOCUMENTS):
            return
        for word in self._words.words:
            text = self._words.shown(word)
            is_plain = text.islower() and text.isalpha() and len(text) >= _MIN_SPELT
            if word.column < 0 or not is_plain or text in _FORM_WORDS:
                continue
            chunks = scan.document_terms[:, word.column]
            holders = int(np.count_nonzero(chunks))
            is_topic = (
                0 < holders <= _TOPIC_DOCUMENTS * scan.documents
                and chunks.sum() >= _TOPIC_CHUNKS * holders
                and (chunks >= _TOPIC_SHARE * scan.document_chunks).any()
            )
            if is_topic and not self._contains[self._about, word.column].any():
                yield self._missing(text, [word.column])

    def _missing(self, text: str, columns: Sequence[int]) -> MissingThing:
        """Return a missing name or matter with the documents that mention it most.

        A shown document may mention it in passing, and is left out.
        """
        chunks = np.where(self._is_shown, 0, self._scan.document_terms[:, columns].min(axis=1))
        order = np.argsort(-chunks, kind="stable")[:_MAX_NAMED]
        return MissingThing(
            text=text,
            subjects=self._shown_subjects(),
            elsewhere=tuple(int(at) for at in order if chunks[at]),
        )


def _abbreviates(name: str, title: str) -> bool:
    """Return whether a name abbreviates a title and has its first letter.

    A short name in capitals may have any letters of the title in order ("WMT"). Other names
    consist of beginnings of its first words ("AmEx").
    """
    short, words = name.casefold(), _JOINED.split(title.casefold())
    if not words[0].startswith(short[0]):
        return False
    if name.isupper() and len(name) <= _ACRONYM:
        letters = iter("".join(words))
        return all(letter in letters for letter in short)
    ends = {0}
    for word in words:
        ends = {
            end + size
            for end in ends
            for size in range(1, len(word) + 1)
            if word[:size] == short[end : end + size]
        }
        if len(short) in ends:
            return True
    return False


def _is_one_edit(first: str, second: str) -> bool:
    """Return whether one letter added, removed, replaced or swapped makes two words equal."""
    short, long = sorted((first, second), key=len)
    if len(long) - len(short) > 1:
        return False
    start = next((at for at, letter in enumerate(short) if letter != long[at]), len(short))
    rest, other = short[start:], long[start:]
    if len(short) < len(long):
        return rest == other[1:]
    is_swap = rest[:2] == other[1::-1] and rest[2:] == other[2:]
    return rest[1:] == other[1:] or is_swap
