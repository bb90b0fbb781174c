"""Settings: sources, precedence and validation."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.permissions import ordinary_user

from spanwise import config
from spanwise.errors import OptionError
from spanwise.options import FetchOptions, ModelOptions, ParseOptions


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder of its own, with a user's folder beside it and no variables."""
    for name in [name for name in os.environ if name.startswith("SPANWISE_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "user"))
    monkeypatch.setenv("APPDATA", str(tmp_path / "user"))
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return work


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def trusted(path: Path, text: str) -> Path:
    config.approve_file(write(path, text))
    return path


def found(name: str) -> config.Setting:
    return next(one for one in config.read_settings() if one.name == name)


@pytest.mark.parametrize(
    ("argument", "environment", "path"),
    [
        ("a.kb", "b.kb", "a.kb"),
        (None, "b.kb", "b.kb"),
        ("", "b.kb", "b.kb"),
        (None, "", "spanwise.kb"),
        (None, None, "spanwise.kb"),
    ],
)
def test_argument_counts_before_environment_before_default(
    monkeypatch: pytest.MonkeyPatch, argument: str | None, environment: str | None, path: str
) -> None:
    if environment is not None:
        monkeypatch.setenv("SPANWISE_KB", environment)
    assert config.knowledge_base_path(argument) == Path(path)


def test_environment_counts_before_project_before_user_before_default(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = write(
        tmp_path / "user" / "spanwise" / "spanwise.toml",
        "[search]\nbudget = 1\npreset = 'precise'\n[excerpts]\nexcerpts = 7\n",
    )
    project = write(folder / "spanwise.toml", "[search]\nbudget = 2\npreset = 'balanced'\n")
    monkeypatch.setenv("SPANWISE_SEARCH_BUDGET", "3")
    assert found("search.budget") == config.Setting(
        name="search.budget", value=3, origin="environment", place="SPANWISE_SEARCH_BUDGET"
    )
    assert found("search.preset") == config.Setting(
        name="search.preset", value="balanced", origin="file", place=f"{project}:3"
    )
    assert found("excerpts.excerpts").place == f"{user}:5"
    assert found("excerpts.excerpt_tokens").origin == "default"
    assert config.settings_files() == [project, user]


def test_the_nearest_file_up_to_the_root_of_the_repository_counts(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(folder / "spanwise.toml", "kb = 'outer.kb'")
    inner = folder / "repository" / "a" / "b"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    assert config.settings_files() == []
    (folder / "repository" / ".git").mkdir()
    assert config.settings_files() == []
    at_root = write(folder / "repository" / "spanwise.toml", "kb = 'root.kb'")
    assert config.settings_files() == [at_root]
    nearer = write(folder / "repository" / "a" / "spanwise.toml", "kb = 'near.kb'")
    assert config.settings_files() == [nearer]


def test_a_path_in_a_file_starts_at_its_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / ".git").mkdir()
    trusted(folder / "spanwise.toml", "kb = 'kept/reports.kb'")
    (folder / "sub").mkdir()
    monkeypatch.chdir(folder / "sub")
    assert config.knowledge_base_path() == folder / "kept" / "reports.kb"


def test_one_file_can_be_named_or_none(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(folder / "spanwise.toml", "[search]\nbudget = 2\n")
    other = write(folder / "other.toml", "[search]\nbudget = 5\n")
    monkeypatch.setenv("SPANWISE_CONFIG", str(other))
    assert config.setting("search.budget") == 5
    monkeypatch.setenv("SPANWISE_CONFIG", "none")
    assert config.setting("search.budget") == 4_000
    monkeypatch.setenv("SPANWISE_CONFIG", "missing.toml")
    with pytest.raises(OptionError, match=r"'missing\.toml', which is not a file"):
        config.read_settings()


@pytest.mark.parametrize(
    ("text", "line", "output"),
    [
        (
            "[search]\n\nbugdet = 1\n",
            3,
            "'search.bugdet' is not a setting; did you mean search.budget",
        ),
        ("# first\nbudget = 1\n", 2, "did you mean search.budget"),
        ("[serch]\nbudget = 1\n", 1, "'serch' is not a setting"),
        ("[fetch]\nallow_private = true\n", 2, "'fetch.allow_private' is not a setting"),
        ("[search]\nbudget = 'many'\n", 2, "search.budget is 'many'; it must be a whole number"),
        ("[search]\nbudget = true\n", 2, "search.budget is True; it must be a whole number"),
        ("[search]\nbudget = 0\n", 2, "budget_tokens is 0; it must be a whole number from 1"),
        ("[search]\npreset = 'best'\n", 2, "preset is 'best'; it must be one of"),
        ("kb = 5\n", 1, "kb is 5; it must be a text"),
        ("search = 5\n", 1, "'search' is not a setting"),
        ("\nadd.include = '*.md'\n", 2, "it must be a list of texts"),
        ("[add]\ninclude = [1]\n", 2, "it must be a list of texts"),
        ("[parse]\ntimeout_seconds = 2e6\n", 2, "timeout_seconds is 2000000.0; it must be at most"),
        ("[parse]\ntimeout_seconds = -1\n", 2, "timeout_seconds is -1.0; it must be positive"),
        ("[parse]\nmax_pages = 1.5\n", 2, "it must be a whole number"),
        ("parse = {max_pages = 0}\n", 1, "max_pages is 0; it must be at least 1"),
    ],
)
def test_what_is_not_usable_is_named_with_its_line(
    folder: Path, text: str, line: int, output: str
) -> None:
    path = write(folder / "spanwise.toml", text)
    with pytest.raises(OptionError) as raised:
        config.read_settings()
    assert str(raised.value).startswith(f"{path}:{line}: ")
    assert output in str(raised.value)


def test_a_secret_in_a_file_is_refused_and_not_shown(folder: Path) -> None:
    write(folder / "spanwise.toml", "openai_api_key = 'sk-12345'\n")
    with pytest.raises(OptionError, match="never into a file") as raised:
        config.read_settings()
    assert "sk-12345" not in str(raised.value)


@pytest.mark.parametrize("content", [b"[search\n", b"kb = '\xff'\n", b"kb = 1\nkb = 2\n"])
def test_a_file_that_cannot_be_read_is_named(folder: Path, content: bytes) -> None:
    path = folder / "spanwise.toml"
    path.write_bytes(content)
    with pytest.raises(OptionError, match="cannot be read") as raised:
        config.read_settings()
    assert str(path) in str(raised.value)


@pytest.mark.parametrize(
    ("variable", "value", "name", "wanted"),
    [
        ("SPANWISE_ADD_INCLUDE", "*.md, *.pdf", "add.include", ("*.md", "*.pdf")),
        ("SPANWISE_PARSE_TIMEOUT_SECONDS", "2.5", "parse.timeout_seconds", 2.5),
        ("SPANWISE_SEARCH_TOKENIZER", "chars:4", "search.tokenizer", "chars:4"),
    ],
)
def test_variables_are_read_as_their_kind(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, name: str, wanted: object
) -> None:
    monkeypatch.setenv(variable, value)
    assert config.setting(name) == wanted


@pytest.mark.parametrize("value", ["many", "1.5", "0"])
def test_a_variable_that_is_not_usable_is_named(
    monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("SPANWISE_SEARCH_BUDGET", value)
    with pytest.raises(OptionError, match="SPANWISE_SEARCH_BUDGET"):
        config.read_settings()


def test_limits_are_those_that_are_set(folder: Path) -> None:
    trusted(folder / "spanwise.toml", "[parse]\nmax_pages = 9\n[fetch]\nmax_bytes = 8\n")
    assert config.parse_options(timeout_seconds=5) == ParseOptions(max_pages=9, timeout_seconds=5)
    wanted = FetchOptions(max_bytes=8, allow_private=True)
    assert config.fetch_options(allow_private=True) == wanted


def test_every_default_passes_its_own_check() -> None:
    for key in config.KEYS:
        key.check(key.default)
    assert len({key.name for key in config.KEYS}) == len(config.KEYS)


@pytest.mark.parametrize(("value", "wanted"), [("1", True), ("0", False), ("", False)])
def test_traceback_is_requested_by_a_variable(
    monkeypatch: pytest.MonkeyPatch, value: str, wanted: bool
) -> None:
    monkeypatch.setenv("SPANWISE_TRACEBACK", value)
    assert config.wants_traceback() is wanted


def test_a_file_may_begin_with_a_byte_order_mark(folder: Path) -> None:
    (folder / "spanwise.toml").write_bytes(b"\xef\xbb\xbf[search]\r\nbudget = 900\r\n")
    assert found("search.budget").value == 900
    assert found("search.budget").place.endswith("spanwise.toml:2")


def test_a_tilde_in_a_file_is_the_home_folder(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    trusted(folder / "spanwise.toml", 'kb = "~/reports.kb"\n')
    assert found("kb").value == str(tmp_path / "reports.kb")
    write(folder / "spanwise.toml", 'kb = "~nobody-of-that-name/reports.kb"\n')
    with pytest.raises(OptionError, match=r"toml:1: kb is .*write the full path"):
        config.read_settings()


@pytest.mark.parametrize("value", ["''", "'  '", '"a\\u0000b"'])
def test_a_knowledge_base_without_a_name_is_refused(folder: Path, value: str) -> None:
    """An empty one would be the folder of the file itself."""
    write(folder / "spanwise.toml", f"kb = {value}\n")
    with pytest.raises(OptionError, match=r"toml:1: kb: .*name a folder"):
        config.read_settings()


@pytest.mark.parametrize("text", ["kb = " + "[" * 5000, f"[search]\nbudget = {'9' * 5000}\n"])
def test_a_file_that_breaks_its_reader_is_an_error_of_the_file(folder: Path, text: str) -> None:
    write(folder / "spanwise.toml", text)
    with pytest.raises(OptionError, match="cannot be read"):
        config.read_settings()


def test_a_deleted_working_folder_has_no_file(folder: Path) -> None:
    folder.rmdir()
    assert config.settings_files() == []


def test_an_inaccessible_parent_folder_has_no_file(folder: Path, tmp_path: Path) -> None:
    inner = folder / "closed" / "inner"
    inner.mkdir(parents=True)
    write(folder / "spanwise.toml", "kb = 'mine.kb'\n")
    (folder / ".git").mkdir()
    os.chdir(inner)
    (folder / "closed").chmod(0)
    try:
        with ordinary_user(tmp_path):
            assert config.settings_files() == [folder / "spanwise.toml"]
    finally:
        (folder / "closed").chmod(0o755)


@pytest.mark.parametrize("value", ["inf", "-inf", "nan"])
def test_a_number_is_finite(folder: Path, monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    write(folder / "spanwise.toml", f"[parse]\ntimeout_seconds = {value}\n")
    with pytest.raises(OptionError, match="must be a finite number"):
        config.read_settings()
    (folder / "spanwise.toml").unlink()
    monkeypatch.setenv("SPANWISE_FETCH_TIMEOUT_SECONDS", value)
    with pytest.raises(OptionError, match="must be a finite number"):
        config.read_settings()


def test_how_models_are_called_is_set(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert config.model_options() == ModelOptions()
    text = '[llm]\nconcurrency = 4\nmax_cost = 0.5\nfallback = "ollama:a"\n'
    trusted(folder / "spanwise.toml", text)
    monkeypatch.setenv("SPANWISE_LLM_REQUESTS_PER_MINUTE", "30")
    options = config.model_options(retries=2, max_cost=None)
    assert options == ModelOptions(
        concurrency=4, max_cost=0.5, fallback="ollama:a", requests_per_minute=30, retries=2
    )


def test_a_cost_limit_of_0_is_kept(folder: Path) -> None:
    """In a file, 0 stands for no limit; on the command line it is one."""
    assert config.model_options().max_cost is None
    assert config.model_options(max_cost=0).max_cost == 0


def test_unknown_variables_are_named_with_similar_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mistyped variable is not ignored silently."""
    for name in os.environ:
        if name.startswith("SPANWISE_"):
            monkeypatch.delenv(name)
    for name in ("SPANWISE_SEARCH_BUDGET", "SPANWISE_KB", "SPANWISE_DEEP", "SPANWISE_MY_API_KEY"):
        monkeypatch.setenv(name, "1")
    assert config.unknown_variables() == []
    near = {
        "SPANWISE_BUDGET": "SPANWISE_SEARCH_BUDGET",
        "SPANWISE_MODEL": "SPANWISE_LLM_MODEL",
        "SPANWISE_SERCH_PRESET": "SPANWISE_SEARCH_PRESET",
        "SPANWISE_ZZZ": "spanwise config",
    }
    for name in near:
        monkeypatch.setenv(name, "secret")
    warnings = dict(zip(sorted(near), config.unknown_variables(), strict=True))
    for name, warning in warnings.items():
        assert name in warning
        assert near[name] in warning
        assert "secret" not in warning
