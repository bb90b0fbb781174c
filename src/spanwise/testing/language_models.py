"""Conformance suite of language models: checks of the contract of `LanguageModel`.

The model must always return the same answer. The quality of its text is not checked.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest
from pydantic import BaseModel

from spanwise.models.ports import LanguageModel, ModelReply, ModelRequest

_MANY = 8


class _Title(BaseModel):
    title: str


class LanguageModelSuite:
    """Base class for tests: define a fixture `model` whose model answers {"title": "Dues"}."""

    REQUEST = ModelRequest(
        task="title",
        instructions="You write titles.",
        shared="<document>\nHarbour dues of the year\n</document>",
        prompt="Write the title.",
        max_output_tokens=50,
    )

    @pytest.fixture
    def model(self) -> LanguageModel:
        """Return the model under test."""
        raise NotImplementedError

    def test_its_name_has_a_vendor_and_a_model(self, model: LanguageModel) -> None:
        """The name is "vendor:model"."""
        vendor, colon, name = model.name.partition(":")
        assert vendor
        assert colon
        assert name
        assert model.concurrency >= 1

    def test_an_answer_is_one_call_that_is_counted(self, model: LanguageModel) -> None:
        """The reply has a text, and a usage of one call."""
        reply = model.generate(self.REQUEST)
        assert reply.text
        assert reply.model
        assert reply.usage.calls == 1
        assert reply.usage.input_tokens > 0
        assert reply.usage.output_tokens > 0
        assert reply.usage.cached_calls == 0
        assert reply.usage.cost is None or reply.usage.cost >= 0
        assert not reply.is_cut

    def test_an_answer_of_a_form_can_be_read(self, model: LanguageModel) -> None:
        """The answer to a request with an answer type is valid JSON of this type."""
        request = ModelRequest(
            task="title", instructions="You write titles.", prompt="Write one.", answer=_Title
        )
        assert _Title.model_validate_json(model.generate(request).text).title == "Dues"

    def test_a_stream_is_the_answer_in_pieces(self, model: LanguageModel) -> None:
        """The last item of a stream is the reply; the items before it join to its text."""
        *pieces, last = model.stream(self.REQUEST)
        assert isinstance(last, ModelReply)
        assert "".join(str(piece) for piece in pieces) == last.text
        assert last.usage.calls == 1
        assert last.usage.output_tokens > 0

    def test_a_stream_can_be_left(self, model: LanguageModel) -> None:
        """A model can be used again after a stream was closed early."""
        stream = model.stream(self.REQUEST)
        assert isinstance(next(stream), str)
        del stream
        assert model.generate(self.REQUEST).text

    def test_an_estimate_calls_no_model_and_covers_the_output(self, model: LanguageModel) -> None:
        """An estimate assumes output of the maximum length; a longer prompt has more tokens."""
        estimate = model.estimate(self.REQUEST)
        assert estimate.calls >= 1, "a fallback model counts too"
        assert estimate.input_tokens > 0
        assert estimate.output_tokens >= self.REQUEST.max_output_tokens
        longer = ModelRequest(
            task="title",
            instructions=self.REQUEST.instructions,
            prompt=self.REQUEST.prompt * 100,
            max_output_tokens=50,
        )
        assert model.estimate(longer).input_tokens > estimate.input_tokens

    def test_several_threads_may_ask(self, model: LanguageModel) -> None:
        """Each thread gets its own answer."""
        with ThreadPoolExecutor(_MANY) as pool:
            replies = list(pool.map(model.generate, [self.REQUEST] * _MANY))
        assert all(reply.text for reply in replies)

    def test_it_answers_inside_a_running_loop(self, model: LanguageModel) -> None:
        """A call works inside a running event loop, such as in a notebook."""

        async def ask() -> ModelReply:
            return model.generate(self.REQUEST)

        assert asyncio.run(ask()).text
