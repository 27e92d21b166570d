"""What is different between two launches, what matters for a failure first."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from firedup.core.difference import Change, Launch, compare_launches

GOOD = Launch(
    ("sglang", "serve", "--tp", "4", "--mem-fraction-static", "0.85", "--trust-remote-code"),
    (("HF_HOME", "/data"),),
    folder="/srv",
    version="0.5.8",
)


def test_flags_and_variables_that_differ_are_named_with_both_sides() -> None:
    bad = replace(
        GOOD,
        argv=("sglang", "serve", "--tp", "8", "--mem-fraction-static=0.85"),
        env=(("HF_HOME", "/data"), ("NCCL_ALGO", "Tree")),
    )

    assert compare_launches(GOOD, bad) == (
        Change("--tp", "4", "8"),
        Change("--trust-remote-code", "", None),
        Change("NCCL_ALGO", None, "Tree"),
    )


def test_what_the_failure_is_about_comes_first() -> None:
    bad = replace(
        GOOD, argv=(*GOOD.argv, "--mem_fraction_static", "0.95"), env=(("NCCL_ALGO", "Tree"),)
    )

    names = [c.name for c in compare_launches(GOOD, bad, ("NCCL_ALGO", "--mem-fraction-static"))]
    assert names == ["--mem_fraction_static", "NCCL_ALGO", "HF_HOME"]


def test_version_folder_and_set_up_are_part_of_it() -> None:
    bad = replace(GOOD, version="0.5.9", folder="/tmp", setup="source venv/bin/activate")

    assert compare_launches(GOOD, bad) == (
        Change("set-up", None, "source venv/bin/activate"),
        Change("folder", "/srv", "/tmp"),
        Change("version", "0.5.8", "0.5.9"),
    )


def test_an_unknown_version_is_no_change() -> None:
    assert compare_launches(GOOD, replace(GOOD, version=None)) == ()


def test_another_program_is_named() -> None:
    bad = replace(GOOD, argv=("vllm", *GOOD.argv[1:]))

    assert compare_launches(GOOD, bad) == (Change("program", "sglang", "vllm"),)


WORDS = st.lists(st.sampled_from(["--a", "--b", "--c=1", "1", "2", "x"]), max_size=6)


@given(WORDS, WORDS)
def test_turned_round_the_sides_are_exchanged_and_alike_means_nothing(
    one: list[str], other: list[str]
) -> None:
    first, second = Launch(("p", *one)), Launch(("p", *other))
    there, back = compare_launches(first, second), compare_launches(second, first)

    assert compare_launches(first, first) == ()
    assert {(c.name, c.old, c.new) for c in there} == {(c.name, c.new, c.old) for c in back}
