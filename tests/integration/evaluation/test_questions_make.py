"""`spanwise questions` from end to end, over HTTP and with a real small model."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.integration.evaluation.capped import capped
from tests.servers.capable import capable_answer, capable_reply
from tests.servers.llama import LlamaServer
from tests.servers.scripted import Received, Reply, ScriptedServer, chat, failure

from spanwise import KnowledgeBase, ModelOptions
from spanwise.cli.main import main
from spanwise.errors import CostLimitError, ModelError
from spanwise.evaluation.dataset_ingest import texts
from spanwise.evaluation.datasets import check_questions, read_questions
from spanwise.evaluation.questions.generator import estimate_questions, make_questions
from spanwise.evaluation.questions.question_file import MakingOptions
from spanwise.testing.models import ScriptedModel

Run = Callable[..., "Ran"]
REPORTS = Path(__file__).resolve().parents[3] / "examples" / "reports"


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(capable_reply) as made:
        yield made


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a knowledge base of the reports; copy it."""
    path = tmp_path_factory.mktemp("reports") / "spanwise.kb"
    with KnowledgeBase(path, embedder=None) as base:
        base.add(REPORTS)
    return path


@pytest.fixture
def folder(filled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the working folder, with a knowledge base of the reports."""
    with KnowledgeBase(filled, create=False) as base:
        base.backup(tmp_path / "spanwise.kb")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SPANWISE_KB", raising=False)
    return tmp_path


@dataclass(frozen=True)
class Ran:
    """What a command did."""

    code: int
    out: str
    err: str


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Return what runs a command of `spanwise questions`."""

    def run(*arguments: str) -> Ran:
        capsys.readouterr()
        code = main(["questions", *arguments])
        written = capsys.readouterr()
        return Ran(code, written.out, written.err)

    return run


def llm(server: ScriptedServer) -> str:
    return f"compatible:scripted@{server.url}/v1"


def test_questions_are_foreseen_made_checked_and_made_again(
    server: ScriptedServer, folder: Path, run: Run
) -> None:
    command = ("make", "--answerable", "6", "--unanswerable", "2", "--llm", llm(server))
    foreseen = run(*command, "--out", "q.jsonl", "--dry-run")
    assert (foreseen.code, foreseen.err) == (0, "")
    most = sum(map(int, re.findall(r"at most: (\d+) model calls", foreseen.out)))
    assert server.received == []
    assert not (folder / "q.jsonl").exists()

    done = run(*command, "--out", "q.jsonl")
    assert (done.code, done.err) == (0, "")
    assert "q.jsonl: 8 questions of 8" in done.out
    calls = len(server.received)
    assert 10 <= calls <= most
    assert f"{calls} model calls" in done.out

    said = run("check", "q.jsonl")
    assert said.code == 0
    assert "8 questions, no errors" in said.out
    assert "without evidence" in said.out

    again = run(*command, "--out", "again.jsonl")
    assert again.code == 0
    assert len(server.received) == calls, "all of it was kept"
    assert (folder / "again.jsonl").read_bytes() == (folder / "q.jsonl").read_bytes()

    refused = run(*command, "--out", "q.jsonl")
    assert refused.code == 2
    assert "already exists" in refused.err


def test_the_evidence_stands_in_the_documents(server: ScriptedServer, folder: Path) -> None:
    with KnowledgeBase(folder / "spanwise.kb") as base:
        heard: list[tuple[int, int, int]] = []
        made = make_questions(
            base,
            llm=llm(server),
            options=MakingOptions(answerable=8, unanswerable=1),
            on_progress=lambda *one: heard.append(one),
        )
        known = texts(base)
        assert check_questions(made.questions, known) == made.questions
        for question in made.questions[:8]:
            for piece in question.evidence:
                assert known[piece.document_id].text[piece.start : piece.end] == piece.text
    assert len({one.evidence[0].document_id for one in made.questions[:8]}) == 4
    assert made.questions[-1].metadata["answerable"] is False
    assert made.questions[-1].evidence == ()
    assert heard[-1][1] == 9
    assert [one[2] for one in heard] == sorted(one[2] for one in heard)


def test_what_cannot_be_used_is_counted_and_gives_way_to_another_place(
    folder: Path, run: Run
) -> None:
    forms = iter(
        [
            {"usable": False, "question": "", "answer": "", "quotes": []},
            {"usable": True, "question": "What is it?", "answer": "x", "quotes": ["nowhere"]},
        ]
    )
    lock = threading.Lock()

    def reply(received: Received) -> Reply:
        with lock:
            form = next(forms, None)
        return capable_reply(received) if form is None else chat(json.dumps(form))

    with ScriptedServer(reply) as server:
        done = run("make", "--answerable", "3", "--llm", llm(server), "--out", "q.jsonl", "--json")
    said = json.loads(done.out)
    assert (said["questions"], said["wanted"]) == (3, 3)
    assert said["places"] >= 5
    assert said["refused"]["nothing to ask"] >= 1
    assert said["refused"]["quote not in the text"] == 1
    assert len(read_questions(folder / "q.jsonl")) == 3


def test_fewer_questions_than_requested_have_their_exit_code(
    server: ScriptedServer, folder: Path, run: Run
) -> None:
    command = ("make", "--answerable", "100", "--llm", llm(server), "--out", "q.jsonl", "--json")
    done = run(*command)
    assert done.code == 3
    assert 0 < json.loads(done.out)["questions"] < 100
    assert (folder / "q.jsonl").exists()


def test_a_question_that_the_model_can_answer_is_not_without_an_answer(folder: Path) -> None:
    def reply(received: Received) -> Reply:
        if received.instructions.startswith("You write questions by which it is tested"):
            return chat(json.dumps({"question": "Why did the gross margin fall in 2023?"}))
        return capable_reply(received)

    with ScriptedServer(reply) as server, KnowledgeBase(folder / "spanwise.kb") as base:
        options = MakingOptions(answerable=0, unanswerable=1)
        made = make_questions(base, llm=llm(server), options=options)
    assert made.questions == ()
    assert made.refused == {"may be answered": 3}


def test_nothing_usable_has_its_exit_code_and_no_file(folder: Path, run: Run) -> None:
    with ScriptedServer(chat("I would rather not.")) as server:
        command = ("make", "--answerable", "2", "--llm", llm(server), "--out", "q.jsonl")
        done = run(*command)
    assert (done.code, done.err) == (4, "")
    assert "no question of 2 could be used" in done.out
    assert "6 rejected: the model failed" in done.out
    assert not (folder / "q.jsonl").exists()


def test_a_provider_that_is_not_there_ends_it_at_once(folder: Path) -> None:
    models = ModelOptions(retries=0, concurrency=2)
    with ScriptedServer(failure(500)) as server, KnowledgeBase(folder / "spanwise.kb") as base:
        with pytest.raises(ModelError):
            make_questions(
                base, llm=llm(server), options=MakingOptions(answerable=2, models=models)
            )
        assert len(server.received) == 2
        with pytest.raises(ModelError):
            make_questions(
                base, llm=llm(server), options=MakingOptions(answerable=90, models=models)
            )
        assert len(server.received) <= 2 + 5 + models.concurrency


def test_a_dry_run_asks_about_places_that_begin_without_a_word(server: ScriptedServer) -> None:
    from spanwise.models.registry import make_language_model

    text = f"{'| --- ' * 20}|\n{'The pier of Northport is long and old. ' * 8}"
    with KnowledgeBase(":memory:", embedder=None) as base:
        base.add_text(text, document_id="pier.txt")
        foreseen = estimate_questions(
            base,
            llm=make_language_model(llm(server), options=ModelOptions()),
            options=MakingOptions(answerable=0, unanswerable=1),
        )
    assert foreseen["answer"].calls - foreseen["answer"].repeated_calls == 1


def test_money_ends_it_and_more_money_goes_on(folder: Path) -> None:
    model = ScriptedModel(capable_answer, dollars_a_token=0.001, concurrency=1)
    with KnowledgeBase(folder / "spanwise.kb") as base:
        poor = MakingOptions(answerable=4, models=ModelOptions(max_cost=2.0))
        with pytest.raises(CostLimitError):
            make_questions(base, llm=model, options=poor)
        paid = len(model.requests)
        assert 0 < paid < 4
        made = make_questions(base, llm=model, options=MakingOptions(answerable=4))
    assert len(made.questions) == 4
    assert made.usage.cached_calls == paid


def test_a_dry_run_counts_what_is_kept(server: ScriptedServer, folder: Path) -> None:
    from spanwise.models.registry import make_language_model

    model = make_language_model(llm(server), options=ModelOptions())
    options = MakingOptions(answerable=3, unanswerable=1)
    with KnowledgeBase(folder / "spanwise.kb") as base:
        before = estimate_questions(base, llm=model, options=options)
        make_questions(base, llm=model, options=options)
        after = estimate_questions(base, llm=model, options=options)
        outputs = base.info().outputs
    assert before["question making"].calls >= 3
    assert after["question making"].cached_calls == 3
    assert after["question making"].calls < before["question making"].calls
    assert before["question making"].input_tokens > 0
    assert outputs == len(server.received), "a dry run keeps nothing"


def test_what_is_asked_for_must_be_possible(folder: Path, run: Run) -> None:
    for arguments, said in (
        (("--llm", "openai:gpt-5-mini", "--out", "none/q.jsonl"), "does not exist"),
        (("--out", "q.jsonl"), "--llm vendor:model"),
        (("--llm", "nobody:x", "--out", "q.jsonl"), "no installed package offers it"),
        (
            ("--llm", "openai:gpt-5-mini", "--answerable", "0", "--out", "q.jsonl"),
            "at least one question",
        ),
    ):
        done = run("make", *arguments)
        assert done.code == 2
        assert said in " ".join(done.err.split())


def test_faults_of_a_file_are_told_with_their_questions(folder: Path, run: Run) -> None:
    (folder / "q.jsonl").write_text(
        '{"id": "1", "question": "Who?", "evidence": [{"document_id": "handbok.md"}]}\n'
        '{"id": "2", "question": "Who?", "evidence": [{"document_id": "handbook.md", "start": 5, '
        '"end": 999999}]}\n'
    )
    done = run("check", "q.jsonl")
    assert done.code == 2
    said = " ".join(done.err.split())
    assert "'handbook.md'" in said
    assert "999999" in said


def test_counts_of_a_file_are_told_to_programs(folder: Path, run: Run) -> None:
    rows = [
        {"question": "Who?", "evidence": [{"document_id": "handbook.md"}], "answer": "Ada"},
        {"question": "What?", "rubric": "Says what.", "evidence": []},
    ]
    (folder / "q.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    said = run("check", "q.jsonl", "--json")
    assert json.loads(said.out) == {
        "questions": 2, "characters": 0, "pages": 0, "documents": 1, "none": 1, "answers": 1,
        "rubrics": 1,
    }  # fmt: skip


@pytest.mark.slow
def test_a_foolish_model_writes_few_questions_and_breaks_nothing(
    llama_server: LlamaServer, folder: Path
) -> None:
    models = ModelOptions(timeout_seconds=600, retries=0, answer_retries=0, concurrency=2)
    options = MakingOptions(answerable=1, models=models)
    with (
        ScriptedServer(capped(llama_server, max_tokens=40)) as server,
        KnowledgeBase(folder / "spanwise.kb", models=models) as base,
    ):
        made = make_questions(base, llm=llm(server), options=options)
        assert check_questions(made.questions, texts(base)) == made.questions
    assert made.places <= 3
    assert len(made.questions) + sum(made.refused.values()) == made.places
