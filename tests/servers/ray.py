"""A real Ray cluster of several nodes on this machine, each in a process group of its own."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["RayCluster", "ray_cluster"]

_ROOT = Path(__file__).resolve().parents[2]
_HOST = "127.0.0.1"
_START_SECONDS = 120
_LISTEN_SECONDS = 30
_STARTS = 3  # a port that was free can be taken by another process before Ray uses it
_OBJECTS_BYTES = 150_000_000


@dataclass(slots=True, kw_only=True)
class RayCluster:
    """A running cluster. The head has the first processor, and each further node has one."""

    folder: Path
    port: int
    client_port: int
    nodes: list[int] = field(default_factory=list)
    """Process groups of the nodes; the head is the first."""

    @property
    def address(self) -> str:
        """Address of the head's client server."""
        return f"ray://{_HOST}:{self.client_port}"

    def add_node(self, *options: str) -> int:
        """Start a node with one processor; return its process group."""
        place = ["--address", f"{_HOST}:{self.port}"]
        if not self.nodes:
            place = ["--head", "--port", str(self.port), "--include-dashboard", "false"]
            place += ["--ray-client-server-port", str(self.client_port)]
            place += ["--temp-dir", str(self.folder)]
        command = [sys.executable, "-m", "ray.scripts.scripts", "start", *place, "--num-cpus", "1"]
        command += ["--object-store-memory", str(_OBJECTS_BYTES), "--node-ip-address", _HOST]
        command += ["--disable-usage-stats", *options]
        log = self.folder / f"start-{len(self.nodes)}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=_environment(),
                start_new_session=True,
            )
            self.nodes.append(process.pid)  # the daemons that it starts stay in its group
        if process.wait(_START_SECONDS) != 0:
            raise RuntimeError(f"ray start failed: {log.read_text(errors='replace')[-2_000:]}")
        return process.pid

    def is_listening(self) -> bool:
        """Return whether the client server of the head listens; it starts after `ray start` ends.

        Waits for it up to 30 seconds.
        """
        deadline = time.monotonic() + _LISTEN_SECONDS
        while time.monotonic() < deadline:
            with suppress(OSError):
                socket.create_connection((_HOST, self.client_port), timeout=1).close()
                return True
            time.sleep(0.1)
        return False

    def kill_node(self, group: int) -> None:
        """Kill all processes of a node, as if its machine lost its power."""
        with suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)

    def close(self) -> None:
        """Kill all nodes, and remove their files."""
        for group in self.nodes:
            self.kill_node(group)
        deadline = time.monotonic() + 10
        while any(map(_is_alive, self.nodes)) and time.monotonic() < deadline:
            time.sleep(0.05)
        shutil.rmtree(self.folder, ignore_errors=True)


def _is_alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _environment() -> dict[str, str]:
    """Return the environment of the nodes: nothing is sent to anyone, and nothing is set up."""
    return os.environ | {
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "1",
        "PYTHONPATH": str(_ROOT),  # embedders of tests are imported by the nodes
    }


def _free_port() -> int:
    with socket.socket() as free:
        free.bind((_HOST, 0))
        port: int = free.getsockname()[1]
        return port


def _started_head() -> RayCluster:
    for _ in range(_STARTS):
        folder = Path(tempfile.mkdtemp(prefix="ray-"))
        cluster = RayCluster(folder=folder, port=_free_port(), client_port=_free_port())
        listening = False
        try:
            cluster.add_node()
            listening = cluster.is_listening()
        finally:
            if not listening:
                cluster.close()
        if listening:
            return cluster
    raise RuntimeError(f"the client server of Ray did not listen in {_STARTS} starts")


@contextmanager
def ray_cluster(nodes: int) -> Iterator[RayCluster]:
    """Run nodes with one processor each; all their processes end with the block."""
    cluster = _started_head()
    try:
        for _ in range(nodes - 1):
            cluster.add_node()
        yield cluster
    finally:
        cluster.close()
