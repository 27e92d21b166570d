"""A launch whose drafter would crash it is refused, by its files and the engine's version."""

from pathlib import Path

import pytest
from workbench import Site

from firedup.core.error import RefusedError
from firedup.testing.script import End, Script, line
from tests.drafter.zoo_folder import broken_folders, good_folders

Pair = tuple[Path, Path]


def sglang(program: str, port: int, pair: Pair, *flags: str) -> tuple[str, ...]:
    target, draft = pair
    models = ("--model-path", str(target), "--speculative-draft-model-path", str(draft))
    algorithm = ("--speculative-algorithm", "EAGLE3")
    return (program, "serve", *models, *algorithm, "--port", str(port), *flags)


@pytest.fixture
def program(site: Site) -> str:
    return site.fake(Script((line(0, "up"),), end=End(0.01)))


async def test_a_drafter_that_crashes_every_version_is_refused(site: Site, program: str) -> None:
    folders = broken_folders("hidden-other")

    with pytest.raises(RefusedError) as refusal:
        await site.launch(sglang(program, site.port, folders))

    assert "hidden" in refusal.value.what
    assert "--force launches all the same" in (refusal.value.todo or "")
    assert await site.launch(sglang(program, site.port, folders), force=True)


async def test_a_good_drafter_and_one_that_only_loses_are_launched(
    site: Site, program: str
) -> None:
    for pair in (good_folders("specforge"), broken_folders("map-stale")):
        assert (await site.launch(sglang(program, site.port, pair))).spec.draft == str(pair[1])


async def test_weights_that_are_made_up_are_not_looked_at(site: Site, program: str) -> None:
    folders = broken_folders("hidden-other")

    run = await site.launch(sglang(program, site.port, folders, "--load-format", "dummy"))

    assert run.spec.draft == str(folders[1])
