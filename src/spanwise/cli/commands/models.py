"""`spanwise models`: download a model that runs on this machine."""

from __future__ import annotations

import sys

import click

from spanwise.cli.arguments import json_option
from spanwise.cli.command_classes import ExampleCommand, ExampleGroup
from spanwise.cli.failures import ExitCode
from spanwise.cli.layout import Page, size
from spanwise.cli.output import write_json

_TIMEOUT_SECONDS = 3_600.0


@click.group(
    cls=ExampleGroup,
    short_help="Download a model.",
    examples=[("download the embedder all-MiniLM-L6-v2", "spanwise models get minilm")],
)
def models() -> None:
    """Download models that run on this machine. No other command downloads a model."""


@models.command(
    cls=ExampleCommand,
    short_help="Download a model.",
    examples=[
        ("download the embedder all-MiniLM-L6-v2", "spanwise models get minilm"),
        ("write the folder as JSON", "spanwise models get minilm --json"),
    ],
    exit_codes=(ExitCode.INTERRUPTED, ExitCode.TERMINATED),
)
@click.argument("name", metavar="NAME", type=click.Choice(["minilm"]))
@json_option
def get(*, name: str, as_json: bool) -> ExitCode:
    """Download the files of a model to the user's cache folder.

    NAME is "minilm": all-MiniLM-L6-v2 from huggingface.co, 91 MB. The files are checked by their
    SHA-256. Complete files are not downloaded again.
    """
    from spanwise.ingest.fetch import Fetcher
    from spanwise.models.providers.catalog import MINILM
    from spanwise.models.providers.minilm import DOWNLOAD_BYTES, download
    from spanwise.options import FetchOptions

    limits = FetchOptions(max_bytes=DOWNLOAD_BYTES, timeout_seconds=_TIMEOUT_SECONDS, robots=False)
    if not as_json:
        Page(sys.stderr).message("", f"{name}: up to {size(DOWNLOAD_BYTES)} from huggingface.co")
    folder, is_new = download(lambda url: Fetcher(limits).fetch(url).data)
    if as_json:
        write_json({"model": MINILM, "folder": str(folder), "downloaded": is_new}, sys.stdout)
    else:
        state = "downloaded to" if is_new else "is complete in"
        Page().message("", f'{name} {state} {folder}; name it with embedder="minilm"')
    return ExitCode.OK
