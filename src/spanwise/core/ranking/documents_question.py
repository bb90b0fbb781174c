"""Recognition of questions that ask for documents: "Which contracts allow a termination?".

Rules:
    The question begins with a request for several documents: "Which contracts ...", "List all
    reports that ...", "In how many of the agreements ...". One or two words may qualify the noun:
    "Which supply agreements ...". With "Which companies have contracts ...", they would be a
    subject and a verb; a word in the plural before another one is therefore no qualifier.
    "Which companies mention ..." asks for the documents that mention something; so do "policies",
    "meetings" and other nouns that may be parts of a document.
    A question about one document ("Which contract ...") asks for its answer, not for documents.
    The topic is the question without the request. It is what the documents must contain. Its
    words may have synonyms in a document, its names may not.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, NamedTuple

from spanwise.core.ranking.question import name_runs
from spanwise.core.text.terms import words
from spanwise.core.text.written_dates import YEAR

if TYPE_CHECKING:
    from spanwise.core.ranking.question import Question

_SINGULAR = (
    "contract|agreement|lease|document|doc|file|filing|report|10-k|10-q|paper|letter|memo|manual"
    "|transcript|invoice|msa|nda"
)
_MENTION = (
    r"(?= (?:(?:that|which|do|did|does|not|never) )*"
    r"(?:mention|discuss|disclose|describe|report|state|say|refer|warn|identify|talk)(?:s|ed|ing)?\b)"
)
_MENTIONING = (
    "companies|policies|pages|articles|meetings|e-?mails|messages|presentations|guides|spreadsheets"
)
_NOUNS = rf"(?:(?:{_SINGULAR})s|(?:{_MENTIONING}){_MENTION})"
_ANY = r"(?:of|the|these|those|our|my|your|all|any|other|such|different|stored|uploaded)"
_MANY = r"(?:which|how many|what)(?: ones)?(?: of| among)?"
_LIST = (
    r"(?:please )?(?:list|name|show|find|give|tell|identify|enumerate|get)(?: me| us)?"
    r"(?: a list of)?"
)
_BEFORE = (
    rf"(?:(?:in|under|by|to|from|for|of|with|according to) )?{_MANY}"
    rf"|{_LIST}(?: {_MANY})?(?= (?:all|any|every|each|the|those|which|what|{_NOUNS}))"
    r"|(?:are|is) there|do|does|can"
)
_VERBS = (
    "have|has|had|do|does|did|is|are|was|were|sign|signed|make|made|use|used|need|get|got|in|on"
)
_QUALIFIER = rf"(?!(?:that|with|where|{_VERBS}) )[\w'-]+ "
_QUALIFIERS = rf"(?:[\w'-]*[^\Ws] {_QUALIFIER}|{_QUALIFIER})??"
_REQUEST = re.compile(
    rf"\W*(?P<before>{_BEFORE}) (?:(?:{_ANY} )*(?P<qualifiers>{_QUALIFIERS})(?P<noun>{_NOUNS})"
    rf"|(?:every|each) (?P<each_qualifiers>{_QUALIFIERS})(?P<each>{_SINGULAR}))\b[ ,]*(?P<rest>.*)",
    re.IGNORECASE | re.DOTALL,
)
_ANY_OF = re.compile(r"(?:(?:are|is) there|do|does|can) (?:any|some|other)\b", re.IGNORECASE)
_YES_NO = re.compile(r"are|is|do|does|can", re.IGNORECASE)
_WHAT_HAS = re.compile(
    r"(?:\w+ ){0,2}?"
    r"(?:contain|mention|have|include|allow|require|cover|discuss|state|say|provide)s?\b",
    re.IGNORECASE,
)
_LIGHT = re.compile(
    r"\A(?:(?:that|which|who|where|there|it|they|is|are|was|were|do|does|did|can|must|may|will|would"
    r"|have|has|had|contain|contains|containing|with|include|includes|including|mention|mentions"
    r"|mentioned|disclose|discloses|disclosed|describe|describes|described|report|reports|reported"
    r"|refer to|referred to|say|says|said|state|states|stated|provide|provides|provide for"
    r"|provides for|about|discuss|discusses|discussed|talk about|talked about"
    r"|deal with|a|an|the|any|some)\s+)+",
    re.IGNORECASE,
)
_OF_ANY_KIND = frozenset({"documents", "docs", "files"})
_NEGATED = re.compile(
    r"(?:(?:that|which|who|do|does|did|is|are|was|were|has|have|had|can|may|must|contain|include"
    r"|mention) )*(?:(?:do|does|did|is|are|was|were|has|have|had|ca)n['’]t|not|never|no|without"
    r"|lack\w*|omit\w*)\b",
    re.IGNORECASE,
)
_SPACE = re.compile(r"\s+")


class DocumentsRequest(NamedTuple):
    """A request for documents, and its topic."""

    noun: str
    """Noun of the documents in lower case; "" if it names no kind of document."""
    topic: str
    """Text that the documents must match."""
    is_negated: bool = False
    """Whether the documents must not match it ("Which contracts do not ...")."""


def read_request(text: str) -> DocumentsRequest | None:
    """Return the request of a question for several documents; None for other questions.

    Args:
        text: Text of the question.
    """
    found = _REQUEST.match(_SPACE.sub(" ", text[:_MAX_CHARS]))
    if found is None:
        return None
    before, rest = found["before"], found["rest"].strip(" ?.!")
    if not rest or (_YES_NO.match(before) and not _ANY_OF.match(found[0])):
        return None
    if re.search(r"\bwhat$", before, re.IGNORECASE) and not _WHAT_HAS.match(rest):
        return None  # "What contracts did they sign?" asks for facts inside documents
    qualifiers = found["qualifiers"] or found["each_qualifiers"] or ""
    topic = f"{qualifiers}{_LIGHT.sub('', rest) or rest}".strip()
    if not topic:
        return None
    noun = (found["noun"] or f"{found['each']}s").lower()
    is_kind = noun not in _OF_ANY_KIND and not re.fullmatch(_MENTIONING, noun)
    return DocumentsRequest(noun if is_kind else "", topic, _NEGATED.match(rest) is not None)


_MAX_CHARS = 2_000


def asks_documents(text: str) -> bool:
    """Return whether a question asks which documents contain something."""
    return len(text) <= _MAX_CHARS and read_request(text) is not None


def topic_words(question: Question) -> tuple[tuple[str, str], ...]:
    """Return the content words of the topic of a request for documents, each with its term.

    Args:
        question: Question whose text begins with the topic.
    """
    word_list = words(_topic(question))
    return tuple(
        (word, stem)
        for word, stem in zip(word_list, question.stems, strict=False)
        if stem is not None
    )


def _topic(question: Question) -> str:
    """Return the topic of a request for documents in Unicode normal form C; empty without one."""
    request = read_request(question.shown_text)
    return "" if request is None else unicodedata.normalize("NFC", request.topic)


class TopicName(NamedTuple):
    """A name in the topic of a request for documents."""

    terms: tuple[str, ...]
    """Terms of its words."""
    is_abbreviation: bool
    """Whether it is in capitals; documents may have its long form instead."""


def topic_names(question: Question) -> tuple[TopicName, ...]:
    """Return the names in the topic of a request for documents.

    Args:
        question: Question whose text begins with the topic.
    """
    topic = _topic(question)
    word_list = words(topic)
    runs = name_runs(topic, word_list, question.stems[: len(word_list)])
    return tuple(
        TopicName(tuple(term for _, term in run), all(word.isupper() for word, _ in run))
        for run in runs
    )


def topic_years(question: Question) -> tuple[str, ...]:
    """Return the terms of the years in the topic of a request for documents.

    Args:
        question: Question whose text begins with the topic.
    """
    return tuple(dict.fromkeys(term for word, term in topic_words(question) if is_year(word)))


def is_year(word: str) -> bool:
    """Return whether a word is a year from 1900 to 2099."""
    return re.fullmatch(YEAR, word, re.ASCII) is not None
