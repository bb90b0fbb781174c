"""`spanwise mcp`: serve knowledge bases to agents through the Model Context Protocol."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from typing import TypedDict, Unpack

import click

from spanwise.cli.arguments import knowledge_bases_option, llm_option, max_cost_option
from spanwise.cli.command_classes import ExampleCommand
from spanwise.cli.failures import ExitCode
from spanwise.cli.knowledge_bases import named_locations
from spanwise.cli.layout import Page
from spanwise.config import fetch_options, model_options, parse_options


class _Arguments(TypedDict):
    kb: tuple[str, ...]
    llm: str
    max_cost: float | None
    write: bool
    http: int | None


@click.command(
    cls=ExampleCommand,
    short_help="Serve agents through the Model Context Protocol.",
    examples=[
        ("serve an agent on this machine", "spanwise mcp --kb reports.kb"),
        ("let the agent add documents", "spanwise mcp --kb notes.kb --write"),
        ("serve over HTTP on this machine", "spanwise mcp --kb reports.kb --http 8001"),
    ],
)
@knowledge_bases_option()
@llm_option(purpose="for the tool `ask`, which is left out without a model")
@max_cost_option("Maximum total cost of model calls in US dollars.")
@click.option("--write", is_flag=True, help="Let agents add and remove documents.")
@click.option(
    "--http",
    metavar="PORT",
    type=click.IntRange(0, 65_535),
    help="Serve streamable HTTP at http://127.0.0.1:PORT/mcp instead of standard input and output; "
    "0 for a free port.",
)
def mcp(**arguments: Unpack[_Arguments]) -> ExitCode:
    """Serve knowledge bases to agents, such as desktop clients and coding agents, through the Model
    Context Protocol. The agent can search, list and read documents. The command runs until the
    agent ends it.
    """  # noqa: D205  # one paragraph in the help
    from spanwise.knowledge_base import KnowledgeBase
    from spanwise.mcp.scope import OpenScope
    from spanwise.mcp.server import make_mcp_server, run_http
    from spanwise.mcp.tools import DocumentTools

    with ExitStack() as stack:
        bases = {
            name: stack.enter_context(
                KnowledgeBase(
                    path,
                    create=False,
                    models=model_options(max_cost=arguments["max_cost"]),
                    parse=parse_options(),
                    fetch=fetch_options(),
                )
            )
            for name, path in named_locations(arguments["kb"]).items()
        }
        tools = DocumentTools(OpenScope(bases), llm=arguments["llm"] or None)
        server = make_mcp_server(
            lambda: tools, answers=tools.llm is not None, writes=arguments["write"]
        )
        if arguments["http"] is None:
            server.run("stdio")
        else:
            run_http(server, port=arguments["http"], listen=Page(sys.stderr).line)
    return ExitCode.OK
