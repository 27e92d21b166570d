"""Where a server's key is looked for, as its profile says."""

from typing import cast

from firedup.core.model import ServerSpec
from firedup.host.http import KeySource
from firedup.host.link import Agent
from firedup.probe.target import make_target
from firedup.profile.load import load_catalogue

NOBODY = cast("Agent", None)  # nothing is asked here


def test_the_keys_of_llama_cpp_are_read_from_files_and_split() -> None:
    profile = load_catalogue().profile("llama-cpp")
    target = make_target(NOBODY, ServerSpec(), profile, run_folder="/runs/one")

    assert target.key == KeySource(
        run="/runs/one",
        options=("--api-key",),
        file_options=("--api-key-file",),
        env=("LLAMA_API_KEY",),
        separator=",",
    )


def test_the_keys_of_vllm_may_be_shortened_flags_of_a_process() -> None:
    profile = load_catalogue().profile("vllm")
    target = make_target(NOBODY, ServerSpec(), profile, process=(7, 1))

    assert target.key == KeySource(pid=7, start_ticks=1, env=("VLLM_API_KEY",), abbreviates=True)
