"""Adding documents to a knowledge base."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace as replaced
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal

from spanwise.errors import OptionError
from spanwise.knowledge_base.checks import (
    checked_given,
    checked_id,
    checked_list,
    checked_media_type,
    checked_metadata,
    checked_text,
    checked_title,
)
from spanwise.knowledge_base.enriching import Enriching
from spanwise.knowledge_base.writing import make_ingestor
from spanwise.types import GivenParts

if TYPE_CHECKING:
    from spanwise.ingest import Ingestor
    from spanwise.knowledge_base.settings import Settings
    from spanwise.models.ledger import Ledger
    from spanwise.models.ports import Embedder, LanguageModel
    from spanwise.options import ContextOptions, FetchOptions, ModelOptions, ParseOptions
    from spanwise.stores.port import Store
    from spanwise.types import IngestProgress, IngestReport, Scalar
    from spanwise.types.listener import Listener


class Adding:
    """What a `KnowledgeBase` offers to take documents in."""

    _store: Store
    _settings: Settings
    _parse: ParseOptions
    _fetch: FetchOptions
    _models: ModelOptions
    _budget: Ledger | None
    _listener: Listener | None
    _embedder: Embedder | None

    def add(  # noqa: PLR0913 - options are keywords, each with a default
        self,
        *sources: str | Path | BinaryIO,
        document_id: str | None = None,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        replace: bool = False,
        metadata: Mapping[str, Scalar] | None = None,
        llm: str | LanguageModel | None = None,
        context: ContextOptions | None = None,
        given: Mapping[str, GivenParts] | None = None,
        dry_run: bool = False,
        on_document: Callable[[IngestProgress], None] | None = None,
    ) -> IngestReport:
        """Add files, folders and URLs; what is there already and unchanged costs a hash.

        Archives, mailboxes and e-mails are opened: what is in them are documents of their own,
        with ids such as "reports.zip!/2018/q3.pdf".

        A document that a language model is to make parts of is made anew where it was made
        otherwise; without `llm` and `given` it stays as it was made. What a model could not make
        is made without one, and told in `report.warnings`; where it could not be reached, the same
        call tries again.

        Args:
            *sources: Files, folders (taken recursively), URLs, objects and prefixes of object
                storage ("s3://bucket/reports"), or one stream of bytes.
            document_id: Id of the stream; only with one.
            include: Patterns of file names to take from folders and containers, such as "*.pdf";
                all when empty.
            exclude: Patterns of file names to leave out.
            replace: Whether a document may take the place of one that came from elsewhere.
            metadata: Fields that every document gets beside its own, in place of those that were
                given before; None to keep these.
            llm: Language model that makes parts of each document, such as "openai:gpt-5-mini", or
                an object; None for none.
            context: Which parts it makes, and how.
            given: Parts that are known beforehand, by document id; they are not made.
            dry_run: Whether nothing is changed, and the report says what would be. With `llm`, or
                an embedder that is asked over a network, documents are parsed, and `report.usage`
                says what it would take: input as it is counted, output and cost at most.
            on_document: Called after each document.

        Returns:
            What was added, replaced, unchanged, and what failed and why; one document that fails
            does not keep the others out.

        Raises:
            OptionError: If nothing is named, a pattern cannot be read, the metadata cannot be
                stored, `llm` and `context` do not fit together, or parts that are given do not fit
                to their document.
            ModelKeyError: If there is no key for the model, or it is refused.
            StoreError: If the knowledge base cannot be written.
        """
        if not sources:
            raise OptionError("no sources are named; name files, folders or URLs")
        from spanwise.ingest import IngestJob, PathPatterns, find_sources

        include, exclude = checked_list("include", include), checked_list("exclude", exclude)
        job = IngestJob(
            sources=tuple(
                find_sources(sources, include=include, exclude=exclude, document_id=document_id)
            ),
            patterns=PathPatterns.of(include, exclude),
            metadata=None if metadata is None else checked_metadata(metadata),
            replace_other=replace,
            on_document=on_document,
            given=checked_given(given),
            enricher=self._enriching.enricher(llm, context, foresees=dry_run),
        )
        return self._ingestor.estimate(job) if dry_run else self._ingestor.run(job)

    def sync(  # noqa: PLR0913 - options are keywords, each with a default
        self,
        folder: str | Path,
        *,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        metadata: Mapping[str, Scalar] | None = None,
        replace: bool = False,
        allow_empty: bool = False,
        llm: str | LanguageModel | None = None,
        context: ContextOptions | None = None,
        given: Mapping[str, GivenParts] | None = None,
        dry_run: bool = False,
        on_document: Callable[[IngestProgress], None] | None = None,
    ) -> IngestReport:
        """Add, replace and remove, so that the documents that came from a folder equal it.

        Documents from elsewhere are left alone. After an interruption the same call goes on where
        it stopped. Removals come last. A file that cannot be read or parsed now, and everything
        below a subfolder that cannot be listed, keeps what is stored, and is reported as failed.

        Args:
            folder: The folder; however it is spelled, it is known by its real, absolute path. Or
                a prefix of an object storage ("s3://bucket/reports").
            include: As `add`. Documents of files that are not taken any more are removed.
            exclude: As `add`.
            metadata: As `add`.
            replace: As `add`.
            allow_empty: Whether all documents of the folder may be removed, if nothing is taken.
            llm: As `add`.
            context: As `add`.
            given: As `add`.
            dry_run: As `add`; where nothing is parsed, what cannot be parsed is not known.
            on_document: Called after each document.

        Raises:
            FetchError: If there is no such folder, or it cannot be listed; nothing was changed.
            OptionError: As `add`; or if nothing is taken, and `allow_empty` is False.
            ModelKeyError: As `add`.
            StoreError: If the knowledge base cannot be written.
        """
        from spanwise.ingest import IngestJob, scan_folder, sync_folder

        return sync_folder(
            scan_folder(
                folder,
                include=checked_list("include", include),
                exclude=checked_list("exclude", exclude),
            ),
            ingestor=self._ingestor,
            job=IngestJob(
                metadata=None if metadata is None else checked_metadata(metadata),
                replace_other=replace,
                on_document=on_document,
                given=checked_given(given),
                enricher=self._enriching.enricher(llm, context, foresees=dry_run),
            ),
            allow_empty=allow_empty,
            dry_run=dry_run,
        )

    def add_text(  # noqa: PLR0913 - options are keywords, each with a default
        self,
        text: str,
        *,
        document_id: str,
        title: str = "",
        media_type: Literal["text/plain", "text/markdown"] = "text/plain",
        metadata: Mapping[str, Scalar] | None = None,
        replace: bool = False,
        llm: str | LanguageModel | None = None,
        context: ContextOptions | None = None,
        given: GivenParts | None = None,
    ) -> IngestReport:
        """Add a text, kept character for character; a text with the same id is replaced.

        Args:
            text: The document.
            document_id: Its id.
            title: Its title; where it is empty, that of the front matter, or the words of its id.
            media_type: "text/markdown" to read headings, tables and front matter in it.
            metadata: Fields to filter by; None keeps the stored ones, {} removes them.
            replace: Whether it may take the place of a document that came from a file or URL.
            llm: As `add`; it makes no title where one is given.
            context: As `add`.
            given: Parts that are known beforehand; they are not made.

        Raises:
            OptionError: If the text, its id, title, media type or metadata cannot be stored; as
                `add`.
            ParseError: If the text is empty.
            ConflictError: If the id belongs to a document from a file or URL.
            DocumentError: If its chunks cannot be embedded; the error of the embedder is its cause.
            CostLimitError: If models would cost more than `ModelOptions.max_cost`.
            ModelKeyError: As `add`.
        """
        from spanwise.ingest import IngestJob

        checked_text(text, document_id)
        checked_id(document_id)
        checked_title(title)
        checked_media_type(media_type)
        fields = None if metadata is None else checked_metadata(metadata)
        enricher = self._enriching.enricher(llm, context)
        if enricher is not None and title:
            given = replaced(given or GivenParts(), title=title)
        job = IngestJob(
            metadata=fields,
            replace_other=replace,
            given=checked_given(None if given is None else {document_id: given}),
            enricher=enricher,
        )
        return self._ingestor.add_text(
            text, document_id=document_id, title=title, media_type=media_type, job=job
        )

    @cached_property
    def _ingestor(self) -> Ingestor:
        return make_ingestor(
            self._store,
            settings=self._settings,
            embedder=lambda: self._embedder,
            parse=self._parse,
            fetch=self._fetch,
            models=self._models,
            listener=self._listener,
            budget=self._budget,
        )

    @cached_property
    def _enriching(self) -> Enriching:
        return Enriching(
            self._store, models=self._models, listener=self._listener, budget=self._budget
        )
