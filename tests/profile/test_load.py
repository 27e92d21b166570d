"""Where profiles come from, what replaces what, and what the cache may do."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from firedup.core.error import ProfileError
from firedup.profile.cache import MAX_FILES, Cache
from firedup.profile.load import load_catalogue
from firedup.profile.match import build_matcher

TOY = """\
schema = 1
engine = "toy"
title = "Toy"

[command]
programs = ["toy-server"]
port = ["--port"]
default_port = 5000

[[rule]]
id = "up"
stage = "ready"
edge = "begin"
pattern = 'toy is up'
source = "toy"
matches = ["now toy is up"]
misses = ["toy is down"]
"""
MORE_FOR_SGLANG = """\
schema = 1
engine = "sglang"

[[class]]
id = "house-rule-broken"
meaning = "A rule of the house was broken."

[[rule]]
id = "house-rule"
class = "house-rule-broken"
role = "cause"
meaning = "Our wrapper refused."
remedy = "Ask the house."
pattern = 'house rule \\d+ broken'
source = "our wrapper"
matches = ["house rule 7 broken"]
misses = ["house rule kept"]
"""


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
    }


def add_profile(environ: dict[str, str], name: str, text: str) -> Path:
    path = Path(environ["XDG_CONFIG_HOME"]) / "firedup" / "profiles" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_the_built_in_engines_are_there(environ: dict[str, str]) -> None:
    catalogue = load_catalogue(environ=environ)

    assert {"sglang", "vllm", "llama-cpp"} <= set(catalogue.engines)
    assert "generic" not in catalogue.engines
    assert catalogue.profile("generic") is not None


def test_an_unknown_engine_gets_all_rules_but_the_generic_ones(environ: dict[str, str]) -> None:
    engines = {rule.engine for rule in load_catalogue(environ=environ).rules_for(None)}

    assert {None, "sglang", "vllm", "llama-cpp"} <= engines
    assert "generic" not in engines


def test_a_known_engine_gets_its_own_rules_and_the_shared_ones(environ: dict[str, str]) -> None:
    rules = load_catalogue(environ=environ).rules_for("vllm")

    assert {rule.engine for rule in rules} == {"vllm", None}
    assert rules[0].engine == "vllm"


def test_the_users_folder_adds_an_engine(environ: dict[str, str]) -> None:
    add_profile(environ, "toy.toml", TOY)

    catalogue = load_catalogue(environ=environ)

    profile = catalogue.profile("toy")
    assert profile is not None
    assert profile.command.default_port == 5000
    assert [rule.name for rule in catalogue.rules_for("toy") if rule.engine] == ["toy/up"]


def test_a_file_may_add_rules_to_a_built_in_engine(environ: dict[str, str], tmp_path: Path) -> None:
    file = tmp_path / "house.toml"
    file.write_text(MORE_FOR_SGLANG, encoding="utf-8")

    catalogue = load_catalogue([file], environ=environ)

    names = [rule.name for rule in catalogue.rules_for("sglang")]
    assert "sglang/house-rule" in names
    assert "sglang/fired-up" in names
    profile = catalogue.profile("sglang")
    assert profile is not None
    assert profile.title == "SGLang"


def test_a_users_rule_replaces_the_built_in_one(environ: dict[str, str], tmp_path: Path) -> None:
    file = tmp_path / "house.toml"
    file.write_text(MORE_FOR_SGLANG.replace("house-rule", "fired-up"), encoding="utf-8")

    rules = load_catalogue([file], environ=environ).rules_for("sglang")

    (rule,) = [rule for rule in rules if rule.name == "sglang/fired-up"]
    assert rule.source == "our wrapper"


def test_rules_without_examples_do_not_load(environ: dict[str, str]) -> None:
    lines = [line for line in TOY.splitlines() if not line.startswith(("matches", "misses"))]
    path = add_profile(environ, "toy.toml", "\n".join(lines))

    with pytest.raises(ProfileError) as caught:
        load_catalogue(environ=environ)

    assert "needs matches" in str(caught.value)
    assert "needs misses" in str(caught.value)
    assert f"{path}:14" in str(caught.value)


def test_all_problems_of_all_files_come_at_once(environ: dict[str, str]) -> None:
    add_profile(environ, "one.toml", TOY.replace("programs", "programms"))
    add_profile(environ, "two.toml", MORE_FOR_SGLANG.replace("meaning", "meening"))

    with pytest.raises(ProfileError) as caught:
        load_catalogue(environ=environ)

    text = str(caught.value)
    assert 'Did you mean "programs"?' in text
    assert 'Did you mean "meaning"?' in text
    assert caught.value.exit_status == 2


def test_a_profile_that_is_not_there_is_said(environ: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match="cannot read the profile"):
        load_catalogue([tmp_path / "absent.toml"], environ=environ)


def test_an_empty_folder_is_no_profile(environ: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match=r"no \*.toml file"):
        load_catalogue([tmp_path], environ=environ)


def test_the_cached_catalogue_is_the_same(environ: dict[str, str]) -> None:
    add_profile(environ, "toy.toml", TOY)
    first = load_catalogue(environ=environ)

    assert load_catalogue(environ=environ) == first


def test_a_changed_profile_is_not_taken_from_the_cache(environ: dict[str, str]) -> None:
    add_profile(environ, "toy.toml", TOY)
    load_catalogue(environ=environ)
    add_profile(environ, "toy.toml", TOY.replace("5000", "6000"))

    profile = load_catalogue(environ=environ).profile("toy")

    assert profile is not None
    assert profile.command.default_port == 6000


def test_a_damaged_cache_is_passed_over(environ: dict[str, str]) -> None:
    first = load_catalogue(environ=environ)
    folder = Path(environ["XDG_CACHE_HOME"]) / "firedup"
    for file in folder.iterdir():
        file.write_bytes(file.read_bytes()[:-1] + b"?")

    assert load_catalogue(environ=environ) == first


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    check_that_nothing_is_kept(tmp_path / "cache")


def test_a_cache_folder_that_is_a_file_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("in the way")
    check_that_nothing_is_kept(tmp_path / "cache")


def check_that_nothing_is_kept(folder: Path) -> None:
    cache = Cache(folder)

    cache.put("name", b"body")

    assert cache.get("name") is None
    assert load_catalogue(environ={}, cache=cache).engines


def test_the_cache_gives_back_what_was_put(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    cache.put("name", b"body")

    assert cache.get("name") == b"body"
    assert cache.get("other") is None
    assert (tmp_path / "cache").stat().st_mode & 0o777 == 0o700


def test_the_cache_forgets_the_oldest(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    for number in range(MAX_FILES + 5):
        cache.put(f"n{number}", b"body")
        os.utime(tmp_path / f"n{number}", (number, number))

    cache.put("newest", b"body")

    assert len(list(tmp_path.iterdir())) == MAX_FILES
    assert cache.get("newest") == b"body"
    assert cache.get("n0") is None


def test_what_is_in_use_is_not_the_oldest(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    for number in range(MAX_FILES):
        cache.put(f"n{number}", b"body")
        os.utime(tmp_path / f"n{number}", (number, number))

    cache.get("n0")
    cache.put("newest", b"body")

    assert (cache.get("n0"), cache.get("n1")) == (b"body", None)


def test_a_matcher_of_the_catalogue_is_kept_in_the_cache(environ: dict[str, str]) -> None:
    catalogue = load_catalogue(environ=environ)
    cache = Cache.of_user(environ)

    build_matcher(catalogue, "vllm", blobs=cache)

    kept = {
        file.name.split("-")[0] for file in Path(environ["XDG_CACHE_HOME"], "firedup").iterdir()
    }
    assert kept == {"catalogue", "patterns"}
