"""A checkpoint read by a host's agent is what is read in this process."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from firedup.core.error import UsageError
from firedup.demo.model import TARGET, TRAINED, model_path
from firedup.drafter.pair import Question, check_pair, check_paths, split_place
from firedup.drafter.place import Here, There
from firedup.host.base import Host, local_host
from firedup.host.link import open_agent
from tests.drafter.zoo_folder import broken_folders, good_folders

OLDEST = Path.home() / ".pyenv/versions/3.6.15/bin/python"


def pairs() -> list[tuple[str, str]]:
    folders = [good_folders("speculators"), good_folders("torchspec"), broken_folders("pointer")]
    found = [(str(target), str(draft)) for target, draft in folders]
    target, draft = good_folders("speculators")
    beside = (str(target / "config.json"), str(draft / "model.safetensors"))
    return [*found, beside, (str(model_path(TARGET)), str(model_path(TRAINED)))]


@pytest.mark.parametrize(
    "python",
    [
        None,
        pytest.param(
            str(OLDEST), marks=pytest.mark.skipif(not OLDEST.exists(), reason="no Python 3.6 here")
        ),
    ],
)
async def test_the_agent_tells_what_is_read_here(python: str | None) -> None:
    host = local_host() if python is None else Host(name="old", python=python)
    async with open_agent(host) as agent:
        there = There(agent)
        for pair in pairs():
            far = await check_pair((there, pair[0]), (there, pair[1]), Question("vllm"))
            near = await check_pair((Here(), pair[0]), (Here(), pair[1]), Question("vllm"))
            bare = replace(
                far,
                target=far.target.removeprefix("old:"),
                draft=far.draft.removeprefix("old:"),
            )

            assert bare == near
            assert (await there.describe(pair[1])).tensors == (
                await Here().describe(pair[1])
            ).tensors


async def test_what_is_not_there_is_said() -> None:
    async with open_agent(local_host()) as agent:
        with pytest.raises(UsageError, match="/no/such: no such file or folder"):
            await There(agent).describe("/no/such")


async def test_a_model_in_the_cache_of_the_hub_is_found_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, draft = good_folders("eagle-repository")
    folder = tmp_path / "models--org--draft"
    (folder / "refs").mkdir(parents=True)
    (folder / "refs" / "main").write_text("abc123")
    (folder / "snapshots").mkdir()
    (folder / "snapshots" / "abc123").symlink_to(draft)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))

    found = await check_paths(str(target), "org/draft", Question())

    assert found.exit_status == 0
    with pytest.raises(UsageError):
        await check_paths(str(target), "org/other", Question())


@pytest.mark.parametrize(
    ("text", "host", "path"),
    [
        ("/data/a:/b", None, "/data/a:/b"),
        ("./a:/b", None, "./a:/b"),
        ("org/model", None, "org/model"),
        ("box:/data/a", "box", "/data/a"),
        ("me@box:~/a", "me@box", "~/a"),
        ("docker:name:/data/a", "docker:name", "/data/a"),
        ("ssh:box,docker:name:/a:/b", "ssh:box,docker:name:/a", "/b"),
        ("ssh://me@box:22:/a", "ssh://me@box:22", "/a"),
        ("ssh://box", None, "ssh://box"),
        ("C:a", None, "C:a"),
    ],
)
def test_a_host_stands_before_the_path(text: str, host: str | None, path: str) -> None:
    assert split_place(text) == (host, path)


async def test_tokens_are_told_where_two_vocabularies_part() -> None:
    target, draft = broken_folders("tokenizer-other")

    ours, theirs = await asyncio.gather(
        Here().tokens(str(target), range(4)), Here().tokens(str(draft), range(4))
    )

    assert ours[0] == "<|begin|>"
    assert ours != theirs or (await Here().tokens(str(draft), range(192))) != (
        await Here().tokens(str(target), range(192))
    )


def hub(folder: Path, name: str, refs: str | None = "abc") -> Path:
    """A model in a cache of the hub; returns its snapshot."""
    kept = folder / f"models--{name.replace('/', '--')}"
    snapshot = kept / "snapshots" / "abc"
    snapshot.mkdir(parents=True)
    (snapshot / "config.json").write_text('{"model_type": "llama"}')
    if refs is not None:
        (kept / "refs").mkdir()
        (kept / "refs" / "main").write_text(refs)
    return snapshot


@pytest.mark.parametrize("is_far", [False, True])
async def test_what_a_command_names_is_looked_for_where_the_command_ran(
    tmp_path: Path, is_far: bool
) -> None:
    work, cache = tmp_path / "work", tmp_path / "cache"
    (work / "org" / "local").mkdir(parents=True)
    (work / "org" / "local" / "config.json").write_text('{"model_type": "qwen3"}')
    hub(cache, "org/model")
    hub(cache, "org/local")
    hub(cache, "org/pinned", refs=None)
    async with open_agent(local_host()) as agent:
        env = {"HF_HUB_CACHE": str(cache), "SECRET": "x"}
        place = There(agent, str(work), env) if is_far else Here(str(work), env)

        assert (await place.describe("org/model")).config["model_type"] == "llama"
        assert (await place.describe("org/pinned")).config["model_type"] == "llama"
        # As engines do, a folder of that name goes first.
        assert (await place.describe("org/local")).config["model_type"] == "qwen3"
        with pytest.raises(UsageError) as caught:
            await place.describe("org/none")
        assert f"no folder in {work}, and no model in the hub's cache {cache}" in str(caught.value)
        with pytest.raises(UsageError, match="no such file or folder"):
            await place.describe("../none.gguf")


async def test_tokens_and_rows_are_read_where_the_checkpoint_was_found() -> None:
    target, _ = good_folders("plain")
    place = Here(str(target.parent))

    await place.describe(target.name)

    assert await place.tokens(target.name, range(3)) == await Here().tokens(str(target), range(3))
