"""`spanwise serve` and `spanwise keys`: the server of knowledge bases, and its keys."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

import click

from spanwise.cli.arguments import (
    json_option,
    knowledge_bases_option,
    llm_option,
    max_cost_option,
)
from spanwise.cli.command_classes import ExampleCommand, ExampleGroup
from spanwise.cli.failures import ExitCode
from spanwise.cli.knowledge_bases import named_locations
from spanwise.cli.layout import Page
from spanwise.cli.output import write_json
from spanwise.config import revealed
from spanwise.loading import fast_imports

if TYPE_CHECKING:
    from spanwise.server.keys import Role

_KEYS_FILE = "spanwise.keys.json"


class _Arguments(TypedDict):
    kb: tuple[str, ...]
    host: str
    port: int
    name: tuple[str, ...]
    keys: str
    workers: int
    llm: str
    rerank: str
    max_cost: float | None
    create: bool
    max_upload_mb: int
    discard_uploads: bool
    allow_private: bool
    mcp_write: bool
    drain_seconds: float
    allow_generation: bool


@click.command(
    cls=ExampleCommand,
    short_help="Serve a web page, HTTP and agents (MCP).",
    examples=[
        ("serve this machine", "spanwise serve --kb reports.kb"),
        (
            "serve other machines, which need a key",
            "spanwise serve --kb reports.kb --host 0.0.0.0 --keys spanwise.keys.json",
        ),
        (
            "answer questions too, in two processes",
            "spanwise serve --llm openai:gpt-5-mini --workers 2",
        ),
    ],
)
@knowledge_bases_option("each is served under its name")
@click.option(
    "--host",
    metavar="ADDRESS",
    default="127.0.0.1",
    show_default=True,
    help="Address to listen on. An address that other machines can reach needs --keys.",
)
@click.option(
    "--port",
    metavar="PORT",
    default=8_000,
    show_default=True,
    type=click.IntRange(1, 65_535),
    help="Port to listen on.",
)
@click.option(
    "--name",
    multiple=True,
    metavar="HOST",
    help="Additional host name that requests may use, such as that of a proxy. Repeatable.",
)
@click.option(
    "--keys", metavar="FILE", default="", help="Key file, created by `spanwise keys add`."
)
@click.option(
    "--workers",
    metavar="N",
    default=1,
    show_default=True,
    type=click.IntRange(1, 64),
    help="Number of processes.",
)
@llm_option(purpose="for answers")
@click.option("--rerank", metavar="RERANKER", default="", help="Reranker that requests may use.")
@max_cost_option("Maximum total cost of model calls of each process in US dollars.")
@click.option("--create", is_flag=True, help="Create a knowledge base that does not exist.")
@click.option(
    "--max-upload-mb",
    metavar="MEGABYTES",
    default=100,
    show_default=True,
    type=click.IntRange(1),
    help="Maximum size of an upload in megabytes.",
)
@click.option(
    "--discard-uploads",
    is_flag=True,
    help="Remove uploaded files once they are added. Images of their pages are then missing.",
)
@click.option(
    "--allow-private",
    is_flag=True,
    help="Also fetch URLs on private networks and on this machine.",
)
@click.option(
    "--mcp-write",
    is_flag=True,
    help="Let agents add and remove documents. With --keys, their key needs the role write.",
)
@click.option(
    "--drain-seconds",
    metavar="SECONDS",
    default=0.0,
    show_default=True,
    type=click.FloatRange(0, 600),
    help="Seconds after SIGTERM in which the server still answers requests, while /readyz returns "
    "503.",
)
@click.option(
    "--allow-generation",
    is_flag=True,
    help="Allow requests that add documents to have the model of --llm write titles, summaries and "
    "sections. Model calls may cost money.",
)
def serve(**arguments: Unpack[_Arguments]) -> ExitCode:
    """Serve knowledge bases: a web page at /, an HTTP interface under /v1 (described at
    /v1/openapi.json), and tools for agents at /mcp (Model Context Protocol, streamable HTTP).
    Ctrl-C stops the server after running requests have finished.
    """  # noqa: D205  # one paragraph in the help
    from spanwise.server.keys import read_ring
    from spanwise.server.options import (
        QueueOptions,
        RequestLimits,
        ServerOptions,
        check_packages,
    )

    check_packages()
    with fast_imports():
        from spanwise.server import run
        from spanwise.server.tracing import trace_exporters

    if arguments["allow_generation"] and not arguments["llm"]:
        raise click.UsageError("--allow-generation needs a language model; name one with --llm")
    host = arguments["host"]
    run.check_address(host, keys_file=arguments["keys"])
    if arguments["keys"]:
        read_ring(Path(arguments["keys"]))
    folders = named_locations(arguments["kb"])
    is_known = all(isinstance(path, Path) and path.is_dir() for path in folders.values())
    if arguments["workers"] == 1 or not is_known:
        # Without --create, a wrong name ends the command here.
        run.check_knowledge_bases(folders.values(), create=arguments["create"])
    run.check_port(host, arguments["port"])
    trace_exporters()
    named = {name: revealed(path) for name, path in folders.items()}
    options = ServerOptions(
        knowledge_bases=named,
        keys_file=arguments["keys"],
        llm=arguments["llm"],
        rerank=arguments["rerank"],
        max_cost=arguments["max_cost"],
        hosts=run.accepted_hosts(host, names=arguments["name"]),
        limits=RequestLimits(upload_bytes=arguments["max_upload_mb"] * 1_000_000),
        queue=QueueOptions(
            keep_uploads=not arguments["discard_uploads"],
            allow_generation=arguments["allow_generation"],
        ),
        allow_private=arguments["allow_private"],
        agents_write=arguments["mcp_write"],
    )
    page = Page(sys.stderr)
    url = f"http://{host}:{arguments['port']}"
    page.line(f"{url} serves {', '.join(named)}; agents use {url}/mcp")
    run.run_server(
        options,
        host=host,
        port=arguments["port"],
        workers=arguments["workers"],
        drain_seconds=arguments["drain_seconds"],
    )
    return ExitCode.OK


@click.group(
    cls=ExampleGroup,
    short_help="Manage the keys of the server.",
    examples=[("add a key for reading", "spanwise keys add website")],
)
def keys() -> None:
    """Add, list and remove the keys of `spanwise serve`."""


_file_option = click.option(
    "--file", default=_KEYS_FILE, show_default=True, help="Key file.", metavar="FILE"
)


@keys.command(
    "add",
    cls=ExampleCommand,
    short_help="Add a key and print it.",
    examples=[
        ("add a key for reading", "spanwise keys add website"),
        (
            "add a key for the documents of one team",
            "spanwise keys add hr --knowledge-base handbook --where 'team = \"hr\"'",
        ),
    ],
)
@click.argument("name")
@click.option(
    "--role",
    default="read",
    show_default=True,
    type=click.Choice(["read", "write", "admin"]),
    help="Rights of the key.",
)
@click.option(
    "--knowledge-base",
    multiple=True,
    metavar="NAME",
    help="Name of a knowledge base that the key allows. Repeatable. Default: all.",
)
@click.option(
    "--where",
    default="",
    metavar="FILTER",
    help="Metadata filter that is added to every request with the key.",
)
@_file_option
def add_key(
    *, name: str, role: Role, knowledge_base: tuple[str, ...], where: str, file: str
) -> ExitCode:
    """Add a key and print it. It is printed only once: the file contains only its hash."""
    from spanwise.server import keys as key_file

    token = key_file.add_key(
        Path(file),
        name,
        role=role,
        knowledge_bases=knowledge_base,
        where=where,
    )
    click.echo(token)
    return ExitCode.OK


@keys.command(
    "list",
    cls=ExampleCommand,
    short_help="List the keys.",
    examples=[("list the keys of another file", "spanwise keys list --file website.keys.json")],
)
@_file_option
@json_option
def list_keys(*, file: str, as_json: bool) -> ExitCode:
    """List the names and rights of the keys."""
    from spanwise.server.keys import read_keys

    rows = [
        {
            "name": key.name,
            "role": key.role,
            "knowledge_bases": list(key.knowledge_bases),
            "where": key.where,
        }
        for key in read_keys(Path(file))
    ]
    if as_json:
        write_json(rows, sys.stdout)
        return ExitCode.OK
    page = Page()
    for row in rows:
        bases = ", ".join(row["knowledge_bases"]) or "all knowledge bases"
        where = f", where {row['where']}" if row["where"] else ""
        page.line(f"{row['name']}: {row['role']}, {bases}{where}")
    return ExitCode.OK


@keys.command(
    "remove",
    cls=ExampleCommand,
    short_help="Remove a key.",
    examples=[("remove a key", "spanwise keys remove website")],
)
@click.argument("name")
@_file_option
def remove_key(*, name: str, file: str) -> ExitCode:
    """Remove a key. A running server accepts it until its restart."""
    from spanwise.server import keys as key_file

    key_file.remove_key(Path(file), name)
    return ExitCode.OK
