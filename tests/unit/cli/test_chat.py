"""`spanwise ask --chat` with questions from a pipe."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from spanwise import KnowledgeBase
from spanwise.cli.commands.chat import Chat, ChatScope
from spanwise.cli.failures import ExitCode
from spanwise.cli.layout import Page
from spanwise.cli.main import main
from spanwise.errors import ModelError, ModelKeyError, QueryError, StoreError
from spanwise.knowledge_base.internals import store_of
from spanwise.testing.store_records import make_turn


@pytest.fixture
def knowledge_base() -> Iterator[KnowledgeBase]:
    with KnowledgeBase(":memory:", embedder=None) as made:
        yield made


@pytest.fixture
def chat(
    knowledge_base: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[ExitCode, str]]:
    """Return a function that runs a conversation, and returns its code and what was written."""

    def run(
        lines: str,
        *,
        thread_id: str | None = "one",
        fails: BaseException | None = None,
        terminal: bool = False,
    ) -> tuple[ExitCode, str]:
        written = io.StringIO()
        page = Page(written)

        def answer(question: str, thread_id: str, _: ChatScope) -> None:
            if fails is not None and "fail" in question:
                raise fails
            store_of(knowledge_base).append_turn(thread_id, make_turn(question))
            page.line(f"answer in {thread_id}")

        typed = io.StringIO(lines)
        monkeypatch.setattr(typed, "isatty", lambda: terminal)
        monkeypatch.setattr("sys.stdin", typed)
        code = Chat(knowledge_base, answer, page=page, thread_id=thread_id).run()
        return code, written.getvalue()

    return run


def test_each_line_is_a_question(
    knowledge_base: KnowledgeBase, chat: Callable[..., tuple[ExitCode, str]]
) -> None:
    code, written = chat("Who?\n\n   \n  And why? \n")
    assert code == ExitCode.OK
    assert written == "> Who?\n\nanswer in one\n\n> And why?\n\nanswer in one\n\n"
    questions = [turn.question for turn in knowledge_base.threads.get("one").turns]
    assert questions == ["Who?", "And why?"]


def test_a_conversation_without_an_id_gets_one(
    knowledge_base: KnowledgeBase, chat: Callable[..., tuple[ExitCode, str]]
) -> None:
    chat("Who?\nWhy?\n", thread_id=None)
    (info,) = knowledge_base.threads.list()
    assert info.turns == 2
    assert len(info.id) == len("20260301-091500-4f2a9c")


def test_commands_are_obeyed(
    knowledge_base: KnowledgeBase, chat: Callable[..., tuple[ExitCode, str]]
) -> None:
    code, written = chat("Who?\n/new\nWhy?\n/thread one\nWhen?\n/threads\n/help\n/quit\nNever?\n")
    assert code == ExitCode.OK
    assert [turn.question for turn in knowledge_base.threads.get("one").turns] == ["Who?", "When?"]
    assert len(knowledge_base.threads.list()) == 2
    assert "Never?" not in written
    assert "one: continued after 1 turn" in written
    assert "1 turn  Why?" in written
    assert "/thread ID" in written


def test_unknown_commands_and_conversations_are_named(
    chat: Callable[..., tuple[ExitCode, str]],
) -> None:
    code, written = chat("/nwe\n/thread mill\n/thread\n")
    assert code == ExitCode.OK
    assert "unknown: /nwe; type /help for commands" in written
    assert "unknown: no conversation has the id 'mill'; /threads lists them" in written
    assert "unknown: /thread; type /help" in written


@pytest.mark.parametrize(
    "error",
    [
        ModelError("the server is away", provider="a", model="b"),
        QueryError("the question is '???'"),
    ],
)
def test_after_a_failed_question_the_chat_continues(
    knowledge_base: KnowledgeBase,
    chat: Callable[..., tuple[ExitCode, str]],
    error: BaseException,
) -> None:
    code, written = chat("Does it fail?\nWho?\n", fails=error)
    assert code == ExitCode.ERROR
    assert f"failed: {error}" in written
    assert [turn.question for turn in knowledge_base.threads.get("one").turns] == ["Who?"]


@pytest.mark.parametrize(
    "error",
    [
        ModelKeyError("no key", provider="a", model="b"),
        StoreError("the disk is gone"),
    ],
)
def test_what_would_fail_every_question_ends_it(
    chat: Callable[..., tuple[ExitCode, str]], error: BaseException
) -> None:
    with pytest.raises(type(error), match=str(error)):
        chat("Does it fail?\nWho?\n", fails=error)


def test_after_a_cancelled_answer_the_chat_continues(
    chat: Callable[..., tuple[ExitCode, str]],
) -> None:
    code, written = chat("Does it fail?\nWho?\n", fails=KeyboardInterrupt(), terminal=True)
    assert code == ExitCode.OK
    assert "stopped: this answer is not stored" in written
    assert written.count("answer in one") == 1


def test_out_of_a_pipe_ctrl_c_ends_the_program(chat: Callable[..., tuple[ExitCode, str]]) -> None:
    """An answer that is not given is no success."""
    with pytest.raises(KeyboardInterrupt):
        chat("Does it fail?\nWho?\n", fails=KeyboardInterrupt())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--chat", "Who?"], "--chat cannot be combined with a question"),
        (["--chat", "--json"], "--chat cannot be combined with a question"),
        ([], "the question is missing; give one in quotes"),
        (["--chat"], "--chat needs a language model; name one with --llm"),
    ],
)
def test_conflicting_options_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    KnowledgeBase(tmp_path / "a.kb", embedder=None).close()
    assert main(["ask", *arguments, "--kb", str(tmp_path / "a.kb")]) == ExitCode.USAGE
    written = capsys.readouterr()
    assert message in written.out + written.err
