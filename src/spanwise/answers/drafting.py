"""An answer as a model writes it, composed statement by statement: at once, or as it comes."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from spanwise.core.drafts import Draft
from spanwise.core.partial_json import PartialObject
from spanwise.errors import CostLimitError, ModelAnswerError, ModelError

if TYPE_CHECKING:
    from spanwise.answers.composing import Composer
    from spanwise.calls.caller import Caller
    from spanwise.tasks.asking import AnswerTask

__all__ = ["compose"]


def compose(
    task: AnswerTask, *, caller: Caller, composer: Composer, streams: bool
) -> Generator[str, None, tuple[Draft, tuple[str, ...]]]:
    """Yield the text of an answer in pieces, whose quotes are checked; return it, with warnings.

    An answer that ends before it is whole keeps the statements that were whole, with a warning,
    where they were yielded already; otherwise it is asked for again.

    Args:
        task: How the model is asked.
        caller: Calls the model.
        composer: Puts the answer together.
        streams: Whether statements are yielded while the others are being written.

    Raises:
        ModelAnswerError: If no answer could be read.
        CostLimitError: If it would cost more than is allowed.
        ModelError: If the model fails before the first statement.
    """
    if not streams or task.read_statement is None:
        draft = caller.call(task.request, read=task.read)
        yield from _rest(draft, composer)
        return draft, ()
    streaming = _Streaming(task=task, composer=composer)
    try:
        yield from streaming.pieces(caller)
    except CostLimitError:
        raise
    except ModelError as error:
        if composer.statements:
            return Draft(answered=True), (f"the answer ends before it is whole: {error}",)
        if not isinstance(error, ModelAnswerError):
            raise
        streaming.draft = caller.call(task.request, read=task.read)
    yield from _rest(streaming.draft, composer)
    return streaming.draft, ()


def _rest(draft: Draft, composer: Composer) -> Generator[str, None, None]:
    """Yield the statements that are not composed yet."""
    if draft.answered:
        for statement in draft.statements[composer.statements :]:
            yield composer.add(statement)


@dataclass(slots=True, kw_only=True)
class _Streaming:
    """Reads an answer while it is being written."""

    task: AnswerTask
    composer: Composer
    draft: Draft = field(default_factory=lambda: Draft(answered=False))
    """The whole answer, once it has been read."""

    def pieces(self, caller: Caller) -> Generator[str, None, None]:
        """Yield statements once they are whole, and the model has said that there is an answer."""
        parts = PartialObject()
        answered = False
        held: list[str] = []
        for piece in caller.stream(self.task.request, read=self._read):
            for key, value in parts.feed(piece):
                if key == "answered":
                    answered = value == "true"
                elif key == "statements":
                    held.append(value)
            while answered and held:
                yield from self._statement(held.pop(0))

    def _read(self, answer: str) -> Draft:
        draft = self.task.read(answer)
        if self.composer.statements and not draft.answered:
            raise ValueError('"answered" is first true and then false')
        self.draft = draft
        return draft

    def _statement(self, value: str) -> Generator[str, None, None]:
        if self.task.read_statement is None:
            return
        try:
            statement = self.task.read_statement(value)
        except ValueError:
            return  # so the whole answer cannot be read either, and the error will say why
        if statement.text:
            yield self.composer.add(statement)
