"""Functions for several knowledge bases, which are searched as one.

`search`, `explain`, `excerpts`, `ask`, `ask_each` and `locate` of the package `spanwise` take a
list of open `KnowledgeBase` objects, then the arguments of the method of the same name. They return
what the method of one knowledge base with all documents would return, added in the order of the
list, and name the knowledge base of each segment, excerpt and citation.

**Raises**

- `EmbedderMismatchError`: If vectors were made with different embedders.
- `OptionError`: If no knowledge base is given, one is given twice, they have different tokenizers,
  tunings or packs of one name, or `ask` has a `thread`.
- `SpanwiseError`: The errors of the method.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar, cast

from spanwise.answers.citation_lookup import citation_of, locate_citation
from spanwise.config import StoreAddress
from spanwise.errors import EmbedderMismatchError, OptionError, PackError, shown
from spanwise.knowledge_base.arguments import checked_segment
from spanwise.knowledge_base.components import Components
from spanwise.knowledge_base.facade import KnowledgeBase
from spanwise.packs.pack_file import joined_record
from spanwise.search.tuned_options import tuning_text
from spanwise.stores.several import SeveralStores

if TYPE_CHECKING:
    from spanwise.answers.citation_lookup import GivenCitation
    from spanwise.answers.conversation import Conversation
    from spanwise.knowledge_base.components import AnswerRequest
    from spanwise.models.ports import Embedder, Reranker
    from spanwise.search.pipeline import Searcher
    from spanwise.stores.port import Store
    from spanwise.types import Citation, CitationLocation, Segment, WholeDocument
    from spanwise.types.listener import Listener

_P = ParamSpec("_P")
_Result = TypeVar("_Result")


@dataclass(kw_only=True)
class _SeveralComponents(Components):
    """Components of several knowledge bases; models and settings are those of the first one."""

    first: Components
    each: tuple[Components, ...]
    several: SeveralStores
    renew: Callable[[], Components]
    """Function that returns the components of the current states of all knowledge bases."""

    def latest(self, *, embedder: Embedder | None = None) -> Components:
        """Return the components of the current states, after a rebuild of one of them."""
        del embedder  # each knowledge base loads its own
        return self.renew()

    @cached_property
    def embedder(self) -> Embedder | None:
        """Embedder of all knowledge bases; None for keyword search only."""
        return self.first.embedder

    @cached_property
    def untuned_searcher(self) -> Searcher:
        """Search pipeline with the shipped settings."""
        searcher = self.first.untuned_searcher
        deep = None if searcher.deep is None else searcher.deep.with_cache(self.store)
        return replace(searcher, store=self.store, deep=deep, notes=self.notes)

    def notes(self) -> tuple[str, ...]:
        """Return warnings about unfinished copies, with the names of the knowledge bases."""
        return tuple(f"{one.path}: {note}" for one in self.each for note in one.notes())

    @property
    def _rerankers(self) -> dict[str, Reranker]:
        return self.first._rerankers

    def read_cited(self, citation: Citation) -> WholeDocument | None:
        """Return the document of a citation; None if it was removed."""
        return self.several.get_whole_of(citation.knowledge_base, citation.document_id)

    def conversation(self, request: AnswerRequest) -> Conversation:
        if request.thread is not None:
            raise OptionError(
                f"thread is {request.thread!r}, and several knowledge bases are searched; a "
                "conversation is stored in one knowledge base: ask without `thread`"
            )
        return super().conversation(request)


class KnowledgeBases(KnowledgeBase):
    """Open knowledge bases that are searched as one; only for questions.

    Its store combines all their stores, so questions use the same code as with one knowledge base.
    """

    def __init__(
        self, knowledge_bases: Sequence[KnowledgeBase], *, names: Sequence[str] = ()
    ) -> None:
        """Combine knowledge bases; ties in the ranking follow their order.

        Args:
            knowledge_bases: Open knowledge bases.
            names: Their names in results; empty for the names of their folders, or for their paths
                if folders share a name.

        Raises:
            OptionError: If there are none, one is given twice, or they differ in tokenizer, tuning
                or packs of one name.
            EmbedderMismatchError: If their vectors were made with different embedders.
        """
        bases = _checked_bases(knowledge_bases)
        components = [base._components for base in bases]
        self._bases = dict(zip(_names(components, names), bases, strict=True))
        _check_comparable({name: base._components for name, base in self._bases.items()})
        self._path = components[0].path

    @property
    def _components(self) -> Components:
        """Components of the current states; a rebuild of one of them replaces its components."""
        components = {name: base._components for name, base in self._bases.items()}
        stores = SeveralStores({name: one.store for name, one in components.items()})
        first = next(iter(components.values()))
        return _SeveralComponents(
            path=first.path,
            folder=first.folder,
            store=cast("Store", stores),  # only its methods are called by questions
            settings=first.settings,
            given_embedder=first.given_embedder,
            models=first.models,
            parse=first.parse,
            fetch=first.fetch,
            tuning=first.tuning,
            listener=first.listener,
            budget=first.budget,
            first=first,
            each=tuple(components.values()),
            several=stores,
            renew=lambda: self._components,
        )

    @property
    def listener(self) -> Listener | None:
        """Callbacks that the first knowledge base was opened with."""
        return next(iter(self._bases.values())).listener

    def locate(self, citation: GivenCitation) -> CitationLocation:
        """Return where the text of a citation is now, in the knowledge base that it names."""
        cited = citation_of(citation)
        name = cited.knowledge_base
        if name not in self._bases:
            raise OptionError(
                f"the citation is from the knowledge base {name!r}, and the given ones are "
                f"{', '.join(self._bases)}; give the knowledge base of the citation"
            )
        located = locate_citation(self._bases[name]._components.store, citation)
        if located.citation is None:
            return located
        return replace(located, citation=replace(located.citation, knowledge_base=name))

    def segment_images(
        self,
        segment: Segment,
        *,
        dots_per_inch: int = 150,
        max_pages: int = 8,
        highlight: bool = False,
    ) -> tuple[bytes, ...]:
        """Return the pages of a segment as PNG files, in order."""
        return self._bases[checked_segment(segment).knowledge_base].segment_images(
            segment, dots_per_inch=dots_per_inch, max_pages=max_pages, highlight=highlight
        )

    def close(self) -> None:
        """Close all knowledge bases."""
        for base in self._bases.values():
            base.close()


def _checked_bases(given: Sequence[KnowledgeBase]) -> tuple[KnowledgeBase, ...]:
    if isinstance(given, KnowledgeBase | str) or not isinstance(given, Iterable):
        raise OptionError(
            f"the knowledge bases are {shown(given)}; give a list of KnowledgeBase objects"
        )
    bases = tuple(given)
    if not bases:
        raise OptionError("no knowledge bases are given; give a list of KnowledgeBase objects")
    for base in bases:
        if not isinstance(base, KnowledgeBase):
            raise OptionError(f"a knowledge base is {shown(base)}; give open KnowledgeBase objects")
    return bases


def _names(components: Sequence[Components], given: Sequence[str] = ()) -> list[str]:
    """Return a name for each knowledge base: its folder or database, or its path if they share one.

    Names that are given are returned.

    Raises:
        OptionError: If a knowledge base is given twice.
    """
    if len({id(one.store) for one in components}) < len(components):
        raise OptionError("a knowledge base is given twice; give each one once")
    if given:
        return list(given)
    names = [one.path.name for one in components]
    if len(set(names)) < len(names):
        names = [str(one.path) for one in components]
    if len(set(names)) < len(names) and all(
        isinstance(one.path, StoreAddress) or one.path.exists() for one in components
    ):
        twice = next(name for name in names if names.count(name) > 1)
        raise OptionError(f"the knowledge base {twice} is given twice; give each one once")
    if len(set(names)) < len(names):  # several in memory
        names = [f"{name} {number}" for number, name in enumerate(names, start=1)]
    return names


def _check_comparable(components: dict[str, Components]) -> None:
    """Check that the scores and lengths of several knowledge bases can be compared.

    Raises:
        OptionError: If they have different tokenizers, tunings or packs of one name.
        EmbedderMismatchError: If their vectors were made with different embedders.
    """
    embedders = {
        name: f"{one.settings.embedder} {one.settings.embedder_version}, "
        f"dimension {one.settings.dimension}"
        for name, one in components.items()
    }
    if len(set(embedders.values())) > 1:
        raise EmbedderMismatchError(
            f"vectors of different embedders cannot be compared: {_listed(embedders)}; add the "
            "documents to knowledge bases with one embedder, or search each one separately"
        )
    tokenizers = {name: one.settings.tokenizer for name, one in components.items()}
    if len(set(tokenizers.values())) > 1:
        raise OptionError(
            f"token counts of different tokenizers cannot share a budget: {_listed(tokenizers)}; "
            "add the documents to knowledge bases with one tokenizer, or search each one separately"
        )
    first, *others = components.values()
    tunings = {None if one.tuning is None else tuning_text(one.tuning) for one in (first, *others)}
    if len(tunings) > 1:
        raise OptionError(
            "the knowledge bases were opened with different tunings; open all of them with one, or "
            "with none"
        )
    try:
        joined_record([one.store.ensure_settings({}).get("packs", "") for one in (first, *others)])
    except PackError as error:
        raise OptionError(
            f"the packs of {', '.join(components)} cannot be used together: {error}; use the same "
            "version of a pack in all of them (`packs.use`)"
        ) from error


def _listed(values: dict[str, str]) -> str:
    return "; ".join(f"{name} has {value}" for name, value in values.items())


def _of_several(
    method: Callable[Concatenate[KnowledgeBase, _P], _Result],
) -> Callable[Concatenate[Sequence[KnowledgeBase], _P], _Result]:
    """Return a function that calls a method for several knowledge bases as one."""

    @wraps(method)
    def call(
        knowledge_bases: Sequence[KnowledgeBase], /, *args: _P.args, **kwargs: _P.kwargs
    ) -> _Result:
        bases = KnowledgeBases(knowledge_bases)
        return cast("_Result", getattr(bases, method.__name__)(*args, **kwargs))

    return call


search = _of_several(KnowledgeBase.search)
explain = _of_several(KnowledgeBase.explain)
excerpts = _of_several(KnowledgeBase.excerpts)
ask = _of_several(KnowledgeBase.ask)
ask_each = _of_several(KnowledgeBase.ask_each)
locate = _of_several(KnowledgeBase.locate)
