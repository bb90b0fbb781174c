"""Questions as JSON lines: both formats, and what is said of lines that are not usable."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.errors import OptionError
from spanwise.evaluation.dataset import DocumentText, Evidence, LabelledQuestion
from spanwise.evaluation.datasets import json_lines as reading_files
from spanwise.evaluation.datasets import read_questions


def _written(folder: Path, *lines: object) -> Path:
    path = folder / "questions.jsonl"
    told = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    path.write_text("\n".join(told), encoding="utf-8")
    return path


def _said(folder: Path, *lines: object) -> str:
    with pytest.raises(OptionError) as raised:
        read_questions(_written(folder, *lines))
    return str(raised.value)


def test_a_question_is_read_with_all_that_is_known_of_it(tmp_path: Path) -> None:
    path = _written(
        tmp_path,
        {
            "id": "q1",
            "question": "Who signs?",
            "answer": "The board.",
            "rubric": "Name the board.",
            "evidence": [
                {"document_id": "a", "start": 3, "end": 9, "text": "board "},
                {"document_id": "a", "page": 2},
                {"document_id": "b", "text": "the board"},
                {"document_id": "c"},
            ],
            "documents": ["a", "b", "c"],
            "metadata": {"kind": "who", "hops": 2, "hard": False},
        },
    )

    assert read_questions(path) == (
        LabelledQuestion(
            id="q1",
            text="Who signs?",
            answer="The board.",
            rubric="Name the board.",
            evidence=(
                Evidence(document_id="a", start=3, end=9, text="board "),
                Evidence(document_id="a", page=2),
                Evidence(document_id="b", text="the board"),
                Evidence(document_id="c"),
            ),
            scope=("a", "b", "c"),
            metadata={"kind": "who", "hops": 2, "hard": False},
        ),
    )


def test_a_question_alone_has_the_number_of_its_line_as_its_id(tmp_path: Path) -> None:
    read = read_questions(_written(tmp_path, "", {"question": "Why?"}, {"question": "How?"}))

    assert [(one.id, one.text, one.evidence, one.scope) for one in read] == [
        ("line-2", "Why?", (), None),
        ("line-3", "How?", (), None),
    ]


def test_the_benchmarks_format_is_read_line_by_line_and_its_pages_count_from_zero(
    tmp_path: Path,
) -> None:
    row = {
        "query_id": "set-1",
        "query": "When?",
        "answer": None,
        "evidence": [{"doc_id": "a", "start": 0, "end": 4, "page": 0, "granularity": "page"}],
        "scope": None,
        "meta": {"lang": "de", "reasoning": None, "all_answers": ["x"], "orig_id": 7},
    }
    path = _written(tmp_path, row, {"id": "own", "question": "Where?"})

    first, second = read_questions(path)

    assert first == LabelledQuestion(
        id="set-1",
        text="When?",
        evidence=(Evidence(document_id="a", start=0, end=4, page=1),),
        metadata={"lang": "de", "orig_id": 7},
    )
    assert second.id == "own"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", ["questions.jsonl:1: not JSON", "correct it"]),
        ("[1]", ["questions.jsonl:1: [1] is not an object"]),
        ('{"question": "a", "question": "b"}', ["'question' occurs twice"]),
        ('{"question": "a", "metadata": {"x": NaN}}', ["NaN is not a JSON number"]),
        ({"question": " "}, ["'question' is ' '; give a text that is not empty"]),
        ({"id": "x"}, ["'question' is missing"]),
        ({"question": 3}, ["'question' is 3; give a text"]),
        ({"question": "\ud800"}, ["'question' has half a character"]),
        ({"question": "a", "documents": ["\ud800"]}, ["'documents' has half a character"]),
        ({"question": "a", "metadata": {"\ud800": 1}}, ["'metadata' has half a character"]),
        ({"question": "a", "metadata": {"x": "\ud800"}}, ["'metadata' has half a character"]),
        ({"question": "a", "answr": "b"}, ["'answr' is not a field", "did you mean 'answer'?"]),
        (
            {"question": "a", "zzz": "b"},
            ["'zzz' is not a field", "the fields are answer, documents"],
        ),
        ({"question": "a", "scope": ["d"]}, ["'scope' is a field of the benchmark format"]),
        (
            {"question": "a", "evidence": [{"doc_id": "d"}]},
            ["evidence 1: 'doc_id' is a field of the benchmark format"],
        ),
        (
            {"query_id": "a", "query": "b", "evidence": [{"document_id": "d"}]},
            ["'document_id' is a field of the user format"],
        ),
        (
            {"query_id": "a", "query": "b", "evidence": [{"doc_id": "d", "strat": 1}]},
            ["'strat' is not a field", "did you mean 'start'?"],
        ),
        (
            {"question": "a", "evidence": [{"document_id": "d", "start": 5, "end": 5}]},
            ["evidence 1: start is 5 and end is 5", "index after the last"],
        ),
        (
            {"question": "a", "evidence": [{"document_id": "d", "start": -1, "end": 5}]},
            ["'start' is -1; give a whole number, 0 or more"],
        ),
        (
            {"question": "a", "evidence": [{"document_id": "d", "start": 1}]},
            ["'end' is None; give a whole number"],
        ),
        (
            {"question": "a", "evidence": [{"document_id": "d", "start": True, "end": 2.5}]},
            ["'start' is True"],
        ),
        (
            {"question": "a", "evidence": [{"document_id": "d", "page": 0}]},
            ["'page' is 0; give a whole number, 1 or more"],
        ),
        (
            {"question": "a", "evidence": [{"document_id": "d", "text": " "}]},
            ["'text' is ' '; quote the document"],
        ),
        ({"question": "a", "evidence": [{"page": 1}]}, ["'document_id' is missing"]),
        ({"question": "a", "evidence": {"document_id": "d"}}, ["'evidence' is {", "give a list"]),
        ({"question": "a", "evidence": ["d"]}, ["evidence 1: 'd' is not an object"]),
        ({"question": "a", "documents": []}, ["'documents' is []", "leave it out for all"]),
        ({"question": "a", "documents": [1]}, ["'documents' is [1]"]),
        ({"question": "a", "metadata": ["x"]}, ["'metadata' is ['x']; give an object"]),
        ({"question": "a", "metadata": {"x": [1]}}, ["'metadata' has [1] as 'x'"]),
    ],
)
def test_a_line_that_is_not_usable_is_named_with_its_value_and_what_to_do(
    tmp_path: Path, line: object, words: list[str]
) -> None:
    message = _said(tmp_path, line)

    assert "questions.jsonl:1: " in message
    for word in words:
        assert word in message


def test_an_id_that_comes_again_names_both_lines(tmp_path: Path) -> None:
    message = _said(tmp_path, {"id": "x", "question": "a"}, {"id": "x", "question": "b"})

    assert message == (
        "questions.jsonl:2: the id 'x' is also used in questions.jsonl:1; ids must be unique"
    )


def test_all_faults_are_told_together_and_the_first_twenty_in_full(tmp_path: Path) -> None:
    bad = {"question": "a", "evidence": [{"document_id": "d", "page": 0}, {"page": 3}]}

    message = _said(tmp_path, {"question": "fine"}, *[bad] * 15)

    assert "there are 30 faults in " in message
    assert message.count("\n  questions.jsonl:") == 20
    assert "questions.jsonl:2: evidence 1: 'page' is 0" in message
    assert "questions.jsonl:2: evidence 2: 'document_id' is missing" in message
    assert message.endswith("and 10 more; correct these first")


def test_a_file_without_a_question_says_how_one_looks(tmp_path: Path) -> None:
    assert 'such as {"question": "...", "evidence"' in _said(tmp_path, "", "")


def test_a_file_that_is_not_utf8_names_line_and_byte(tmp_path: Path) -> None:
    path = tmp_path / "latin.jsonl"
    path.write_bytes('{"question": "ok"}\n{"question": "für"}\n'.encode("latin-1"))

    with pytest.raises(OptionError, match=r"latin\.jsonl:2: byte 15 is 0xfc, which is not UTF-8"):
        read_questions(path)


def test_a_byte_order_mark_and_windows_line_ends_are_no_fault(tmp_path: Path) -> None:
    path = tmp_path / "windows.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"question": "a"}\r\n{"question": "b"}\r\n')

    assert [one.text for one in read_questions(path)] == ["a", "b"]


def test_a_line_that_is_too_long_is_named_and_the_next_one_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading_files, "MAX_LINE_BYTES", 40)
    long = json.dumps({"question": "a" * 200})

    message = _said(tmp_path, {"question": "a"}, long, {"qestion": "b"})

    assert "there are 2 faults" in message
    assert "questions.jsonl:2: the line is longer than 40 bytes" in message
    assert "questions.jsonl:3: 'qestion' is not a field" in message


def test_a_line_of_exactly_the_longest_length_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [json.dumps({"question": "a" * count}) for count in (30, 30, 2)]
    monkeypatch.setattr(reading_files, "MAX_LINE_BYTES", len(lines[0]) + 1)

    assert [len(one.text) for one in read_questions(_written(tmp_path, *lines))] == [30, 30, 2]


def test_json_nested_too_deep_is_a_fault_and_no_crash(tmp_path: Path) -> None:
    assert "questions.jsonl:1: not JSON" in _said(tmp_path, "[" * 100_000)


def test_a_missing_file_and_a_pointer_of_git_lfs_are_told(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="cannot be read: No such file"):
        read_questions(tmp_path / "none.jsonl")
    pointer = tmp_path / "pointer.jsonl"
    pointer.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")
    with pytest.raises(OptionError, match="git lfs pull"):
        read_questions(pointer)


_TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip)
_EVIDENCE = st.one_of(
    st.builds(lambda text: {"document_id": text}, _TEXTS),
    st.builds(
        lambda text, start, length: {"document_id": text, "start": start, "end": start + length},
        _TEXTS,
        st.integers(0, 10**9),
        st.integers(1, 10**6),
    ),
    st.builds(lambda text, page: {"document_id": text, "page": page}, _TEXTS, st.integers(1, 999)),
    st.builds(lambda text, quote: {"document_id": text, "text": quote}, _TEXTS, _TEXTS),
)
_ROWS = st.fixed_dictionaries(
    {"question": st.builds("{} who".format, _TEXTS)},
    optional={
        "answer": st.text(st.characters(exclude_categories=["Cs"])),
        "evidence": st.lists(_EVIDENCE, max_size=3),
        "documents": st.lists(_TEXTS, min_size=1, max_size=3, unique=True),
        "metadata": st.dictionaries(
            _TEXTS,
            st.one_of(_TEXTS, st.booleans(), st.integers(), st.floats(allow_nan=False)).filter(
                lambda one: one not in (float("inf"), float("-inf"))
            ),
            max_size=3,
        ),
    },
)


@given(rows=st.lists(_ROWS, min_size=1, max_size=4), is_ascii=st.booleans())
def test_what_is_written_in_the_format_is_read_as_it_is(
    rows: list[dict[str, object]], is_ascii: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("law") / "questions.jsonl"
    lines = [json.dumps(row, ensure_ascii=is_ascii) for row in rows]
    path.write_text("\n".join(lines), encoding="utf-8", newline="")

    for row, read in zip(rows, read_questions(path), strict=True):
        assert read.text == row["question"]
        assert read.answer == row.get("answer", "")
        assert read.scope == (None if "documents" not in row else tuple(row["documents"]))  # type: ignore[arg-type]
        assert dict(read.metadata) == row.get("metadata", {})
        told: list[dict[str, object]] = row.get("evidence", [])  # type: ignore[assignment]
        for piece, given_piece in zip(read.evidence, told, strict=True):
            for name in ("document_id", "start", "end", "page"):
                assert getattr(piece, name) == given_piece.get(name)
            assert piece.text == given_piece.get("text", "")


_JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.floats(), st.text(max_size=3)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=2)
    ),
    max_leaves=4,
)
_NAMES = ["document_id", "doc_id", "start", "end", "page", "text"]
_PIECES = st.lists(st.dictionaries(st.sampled_from(_NAMES), _JSON, max_size=4), max_size=2)
_ANYTHING = st.fixed_dictionaries(
    {},
    optional={
        **{
            name: st.one_of(st.text(min_size=1, max_size=3), _JSON)
            for name in ("id", "query_id", "question", "query", "answer", "rubric")
        },
        **dict.fromkeys(("documents", "scope", "metadata", "meta"), _JSON),
        "evidence": st.one_of(_PIECES, _JSON),
    },
)


@given(content=st.one_of(st.binary(max_size=60), _ANYTHING.map(json.dumps)))
def test_whatever_a_file_holds_it_is_read_or_refused(
    content: bytes | str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("law") / "questions.jsonl"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())

    questions: tuple[LabelledQuestion, ...] = ()
    said = ""
    try:
        questions = read_questions(path)
    except OptionError as error:
        said = str(error)

    assert ("questions.jsonl" in said) == (not questions)
    assert all(question.text.strip() for question in questions)


@pytest.mark.parametrize("text", ["???", "--", "\u2026", "\U0001f642"])
def test_a_question_without_a_word_cannot_be_searched(text: str, tmp_path: Path) -> None:
    said = _said(tmp_path, {"question": "Who signs?"}, {"id": "q2", "question": text})
    assert said.startswith("questions.jsonl:2: 'question' is ")
    assert "in at least one word" in said
    assert _said(tmp_path, {"question": text}).startswith("questions.jsonl:1: 'question' is ")


@pytest.mark.parametrize("text", ["the of and?", "2023?", "\u591a\u5c11", "C#"])
def test_a_question_of_one_word_can_be_searched(text: str, tmp_path: Path) -> None:
    (question,) = read_questions(_written(tmp_path, {"question": text}))
    assert question.text == text


def test_a_question_that_is_too_long_to_search_is_refused(tmp_path: Path) -> None:
    assert "give at most 1,000,000" in _said(tmp_path, {"question": "word " * 300_000})


def test_faults_of_the_format_and_of_the_documents_are_told_together_with_their_lines(
    tmp_path: Path,
) -> None:
    path = _written(
        tmp_path,
        {"id": "a", "question": "Who?", "evidence": [{"document_id": "nope"}]},
        "not JSON",
        {
            "id": "b",
            "question": "When?",
            "evidence": [
                {"document_id": "d", "start": 3, "end": 2},
                {"document_id": "d", "page": 9},
            ],
        },
        {"id": "c", "question": "Why?", "documents": ["nope"]},
        {
            "id": "d",
            "question": "How?",
            "evidence": [{"document_id": "d", "text": "two"}],
            "documents": ["e"],
        },
        {"query_id": "e", "query": "Where?", "scope": ["nope"]},
    )
    texts = {"d": DocumentText(text="one two"), "e": None}

    with pytest.raises(OptionError) as raised:
        read_questions(path, texts=texts)

    assert [fault.partition(";")[0] for fault in raised.value.faults] == [
        "questions.jsonl:1: evidence 1: no document has the id 'nope'",
        "questions.jsonl:2: not JSON: Expecting value: line 1 column 1 (char 0)",
        "questions.jsonl:3: evidence 1: start is 3 and end is 2",
        "questions.jsonl:3: evidence 2: 'd' has no pages",
        "questions.jsonl:4: documents: no document has the id 'nope'",
        "questions.jsonl:5: evidence 1: 'd' is not among the documents that the question searches, "
        "['e']",
        "questions.jsonl:6: scope: no document has the id 'nope'",
    ]


def test_texts_of_evidence_get_their_places_while_they_are_read(tmp_path: Path) -> None:
    path = _written(
        tmp_path, {"question": "Who?", "evidence": [{"document_id": "d", "text": "two"}]}
    )
    (question,) = read_questions(path, texts={"d": DocumentText(text="one two")})
    assert (question.evidence[0].start, question.evidence[0].end) == (4, 7)
