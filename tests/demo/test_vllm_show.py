"""The demo with vLLM: what is launched and asked."""

import json
from pathlib import Path

from firedup.cli.group import commands
from firedup.cli.probe import command as probe_command
from firedup.demo.vllm_show import VllmScene, asking, models_folder
from firedup.probe.promptset import load_prompts
from firedup.profile.command import read_command
from firedup.profile.load import load_catalogue
from firedup.session.order import parse_words


def test_the_shown_command_is_the_launched_one():
    scene = VllmScene("demo-drafted", 1234, Path("/opt/bin/vllm"), has_drafter=True)

    shown = scene.command()
    env, words = parse_words(shown[5:])

    order = scene.order()
    assert shown[:5] == ("firedup", "run", "--name", "demo-drafted", "--")
    assert (env, words[0], words[1:]) == (order.env, "vllm", order.argv[1:])


def test_the_models_that_it_names_are_there_and_it_is_read_as_speculating_vllm():
    scene = VllmScene("demo-drafted", 1234, Path("/opt/bin/vllm"), has_drafter=True)
    plain = VllmScene("demo-plain", 1234, Path("/opt/bin/vllm"))

    spec = read_command(scene.order().argv, {}, load_catalogue())
    other = read_command(plain.order().argv, {}, load_catalogue())

    assert spec.engine == "vllm"
    assert (models_folder() / str(spec.model) / "config.json").is_file()
    assert (models_folder() / str(spec.draft) / "config.json").is_file()
    assert other.draft is None
    how = json.loads(scene.order().argv[-1])
    assert how["method"] == "eagle3"


def test_the_shown_measurement_is_one_that_firedup_probe_takes():
    words = asking().command("demo-plain")

    given = probe_command.make_context("probe", list(words[2:]), **commands.context_settings).params

    assert len(load_prompts(models_folder() / given["prompts"]).prompts) == given["requests"]
    assert given["max_tokens"] == asking().max_tokens
