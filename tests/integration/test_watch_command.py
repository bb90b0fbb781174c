"""`spanwise sync --watch` and `spanwise add --crawl` as commands."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.integration.commands import command, environment, spanwise
from tests.servers.web_site import Site, page, serving


@pytest.fixture(name="site")
def run_site() -> Iterator[Site]:
    with serving(
        {"/": page("Start.", "/a"), "/a": page("Page A.", "/b"), "/b": page("B.")}
    ) as site:
        yield site


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for one process")
def test_watch_writes_a_line_for_each_change_until_ctrl_c(tmp_path: Path) -> None:
    """With --json, each report is one line; the exit code is 130."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.md").write_text("First text.")
    options = ("--watch", "--settle", "0.1", "--json")
    with subprocess.Popen(
        command("sync", "in", *options),
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["added"] == ["a.md"]
        (tmp_path / "in" / "b.md").write_text("Second text.")
        assert json.loads(process.stdout.readline())["added"] == ["b.md"]
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        rest, errors = process.communicate(timeout=20)
    assert process.returncode == 130
    assert json.loads(rest)["error"]["code"] == "interrupted"
    assert errors == ""


def test_watch_and_dry_run_exclude_each_other(tmp_path: Path) -> None:
    """Nothing is created."""
    assert spanwise("sync", ".", "--watch", "--dry-run", folder=tmp_path).returncode == 2
    assert list(tmp_path.iterdir()) == []


def test_crawl_follows_links_up_to_the_depth(site: Site, tmp_path: Path) -> None:
    """A start page alone creates the knowledge base; options of crawls need --crawl."""
    options = ("--allow-private", "--delay", "0")
    ended = spanwise("add", site.url, "--crawl", "--depth", "1", *options, folder=tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert "2 added" in ended.stdout
    assert spanwise("add", site.url, "--depth", "1", folder=tmp_path).returncode == 2
    ended = spanwise("add", site.url, "--crawl", "--depth", "2", *options, folder=tmp_path)
    assert "1 added" in ended.stdout
    assert "2 unchanged" in ended.stdout
