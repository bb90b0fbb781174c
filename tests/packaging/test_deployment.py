"""The files in `deploy/`, `llms.txt` and `AGENTS.md` fit the program and the repository."""

from __future__ import annotations

import json
import re
import shlex
import socket
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml  # type: ignore[import-untyped]
from tests.integration.commands import environment, spanwise

from spanwise.cli.program import cli

ROOT = Path(__file__).resolve().parents[2]
DOCKERFILE = (ROOT / "deploy" / "Dockerfile").read_text(encoding="utf-8")
UNIT = (ROOT / "deploy" / "spanwise.service").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
SERVICE: dict[str, Any] = yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text("utf-8"))

POSTGRES: dict[str, Any] = yaml.safe_load(
    (ROOT / "deploy" / "compose.postgres.yaml").read_text("utf-8")
)


def instructions(name: str) -> list[str]:
    """Return the arguments of each instruction of the Dockerfile with this name."""
    joined = DOCKERFILE.replace("\\\n", " ")
    return re.findall(rf"^{name} +(.+)$", joined, re.MULTILINE)


def image_command() -> list[str]:
    """Return the arguments of the program in the image."""
    assert instructions("ENTRYPOINT") == ['["spanwise"]']
    (command,) = instructions("CMD")
    arguments: list[str] = json.loads(command)
    return arguments


def unit_values(name: str) -> list[str]:
    return re.findall(rf"^{name}=(.*)$", UNIT, re.MULTILINE)


def options_of(arguments: list[str]) -> dict[str, Any]:
    """Return the options of a `serve` command line, checked as the program does."""
    command, *rest = arguments
    assert command == "serve"
    names = ["--help", "-h"]  # click stores the help option of the first context
    context = cli.commands["serve"].make_context("serve", list(rest), help_option_names=names)
    return dict(context.params)


def health_check() -> list[str]:
    (check,) = instructions("HEALTHCHECK")
    command: list[str] = json.loads(check[check.index("[") :])
    return command


def test_the_image_serves_at_the_published_port_with_keys() -> None:
    options = options_of(image_command())
    port = options["port"]
    assert instructions("EXPOSE") == [str(port)]
    assert f"http://127.0.0.1:{port}/healthz" in health_check()[-1]
    assert options["host"] == "0.0.0.0"
    assert options["keys"], "a server for other machines is refused without keys"


def test_the_image_is_built_from_files_that_exist_and_are_sent_to_docker() -> None:
    copied = [part.split()[:-1] for part in instructions("COPY") if "--from" not in part]
    names = {name for part in copied for name in part}
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    assert all((ROOT / name).exists() for name in names)
    assert {f"!{name}" for name in names} == {line for line in ignored if line.startswith("!")}


def test_the_image_has_a_supported_python_and_known_extras() -> None:
    versions = {re.sub(r"-slim.*", "", one.partition(":")[2]) for one in instructions("FROM")}
    (version,) = versions
    assert tuple(map(int, version.split("."))) >= (3, 11)
    (extras,) = [one.partition("=")[2] for one in instructions("ARG")]
    assert set(extras.split(",")) <= set(PROJECT["optional-dependencies"])


def test_the_container_is_not_root_and_writes_to_its_volume_only() -> None:
    (user,) = instructions("USER")
    assert "0" not in user.split(":")
    (volume,) = instructions("VOLUME")
    assert options_of(image_command())["kb"][0].startswith(f"{volume}/")
    service = SERVICE["services"]["spanwise"]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert [one.partition(":")[2] for one in service["volumes"]] == [volume]


def test_the_compose_file_fits_the_image() -> None:
    service, port = SERVICE["services"]["spanwise"], options_of(image_command())["port"]
    assert service["ports"] == [f"127.0.0.1:{port}:{port}"]
    assert service["healthcheck"]["test"] == ["CMD", *health_check()]
    assert (ROOT / "deploy" / service["build"]["context"]).resolve() == ROOT
    assert (ROOT / service["build"]["dockerfile"]).is_file()
    (secret,) = service["secrets"]
    assert options_of(image_command())["keys"] == f"/run/secrets/{secret}"
    assert secret in SERVICE["secrets"]
    assert set(SERVICE["volumes"]) == {one.partition(":")[0] for one in service["volumes"]}


def test_the_server_with_a_database_writes_nothing_to_its_machine() -> None:
    service, database = (POSTGRES["services"][name] for name in ("spanwise", "database"))
    options, image = options_of(service["command"]), options_of(image_command())
    assert service["build"]["args"]["EXTRAS"].split(",") == ["serve", "postgres"]
    assert set(service["build"]["args"]["EXTRAS"].split(",")) <= set(
        PROJECT["optional-dependencies"]
    )
    assert {name: options[name] for name in ("host", "port", "keys", "create")} == {
        name: image[name] for name in ("host", "port", "keys", "create")
    }
    assert options["kb"][0].startswith(f"postgresql://{database['environment']['POSTGRES_USER']}@")
    assert options["kb"][0].endswith(f"/{database['environment']['POSTGRES_DB']}")
    assert service["environment"]["PGPASSWORD"] == database["environment"]["POSTGRES_PASSWORD"]
    same = ("ports", "healthcheck", "read_only", "cap_drop", "security_opt", "secrets", "restart")
    assert [service[name] for name in same] == [
        SERVICE["services"]["spanwise"][name] for name in same
    ]
    assert "volumes" not in service
    assert int(service["stop_grace_period"].removesuffix("s")) >= options["drain_seconds"] + 30


def test_the_unit_starts_the_server_and_replaces_its_processes() -> None:
    (start,) = unit_values("ExecStart")
    program, *arguments = shlex.split(start)
    options = options_of(arguments)
    (state,) = unit_values("StateDirectory")
    assert program == "/opt/spanwise/bin/spanwise"
    assert options["kb"][0].startswith(f"/var/lib/{state}/")
    (credential,) = [one.partition(":")[0] for one in unit_values("LoadCredential")]
    assert options["keys"] == f"${{CREDENTIALS_DIRECTORY}}/{credential}"
    (reload,) = unit_values("ExecReload")
    assert "-HUP" in reload
    assert options["workers"] > 1, "SIGHUP ends a server of one process"


def test_the_page_names_the_files_and_their_places() -> None:
    page = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
    for path in (ROOT / "deploy").iterdir():
        assert f"deploy/{path.name}" in page
    (state,) = unit_values("StateDirectory")
    assert f"/var/lib/{state}" in page
    commands = re.findall(r"^    (?:.*bin/)?spanwise (.+)$", page, re.MULTILINE)
    assert commands
    for line in commands:
        name, *arguments = shlex.split(line)
        if name == "serve":
            options_of([name, *arguments])


@pytest.mark.parametrize("name", ["llms.txt", "AGENTS.md"])
def test_links_for_agents_lead_somewhere(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    targets = [target.partition("#")[0] for target in re.findall(r"\]\(([^)\s]+)\)", text)]
    assert targets
    assert [target for target in targets if not (ROOT / target).is_file()] == []


def test_the_list_for_agents_has_all_pages() -> None:
    text = (ROOT / "llms.txt").read_text(encoding="utf-8")
    assert text.startswith("# Spanwise\n\n> ")
    linked = set(re.findall(r"\]\((docs/[\w/-]+\.md)\)", text))
    assert {path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md")} == linked


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def test_the_command_of_the_image_serves_and_its_health_check_passes(tmp_path: Path) -> None:
    """Paths and port are those of this test; the home folder does not exist, as in the image."""
    keys, port = tmp_path / "keys.json", str(free_port())
    token = spanwise("keys", "add", "website", "--file", keys, folder=tmp_path).stdout.strip()
    options = options_of(image_command())
    moved = {
        options["kb"][0]: str(tmp_path / "spanwise.kb"),
        options["keys"]: str(keys),
        str(options["port"]): port,
        options["host"]: "127.0.0.1",
    }
    arguments = [moved.get(word, word) for word in image_command()]
    check = [word.replace(str(options["port"]), port) for word in health_check()[1:]]
    home = environment({"HOME": "/nonexistent", "PYTHONDONTWRITEBYTECODE": "1"})
    with subprocess.Popen(
        [sys.executable, "-m", "spanwise", *arguments], cwd=tmp_path, env=home
    ) as server:
        try:
            for _ in range(200):
                done = subprocess.run([sys.executable, *check], capture_output=True, check=False)
                if done.returncode == 0 or server.poll() is not None:
                    break
                time.sleep(0.1)
            assert done.returncode == 0
            url = f"http://127.0.0.1:{port}/v1/knowledge-bases"
            assert httpx.get(url).status_code == 401
            allowed = httpx.get(url, headers={"Authorization": f"Bearer {token}"})
            assert [base["name"] for base in allowed.json()["knowledge_bases"]] == ["spanwise"]
        finally:
            server.terminate()
            server.wait(60)
