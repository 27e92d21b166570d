"""Flags as the engines' own parsers read them: the answers here are those that they gave."""

from __future__ import annotations

import argparse

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firedup.core.error import ProfileError
from firedup.profile.command import find_engine, read_flags
from firedup.profile.declared import parse_option
from firedup.profile.flagname import Doubt
from firedup.profile.flags import Flags, parse_flags
from firedup.profile.join import join_files
from firedup.profile.problem import error_of
from firedup.profile.read import SourceFile
from firedup.profile.schema import FlagTable, Option, Takes
from tests.compiled import builtin_catalogue

JSON = ("--speculative-config", "-sc")
ENGINES = {"sglang": "sglang serve", "vllm": "vllm serve", "llama-cpp": "llama-server"}


def read(engine: str, words: str) -> Flags:
    found = find_engine(f"{ENGINES[engine]} {words}".split(), builtin_catalogue())
    assert found is not None
    return read_flags(*found)


def refusals(engine: str, words: str) -> list[str]:
    return [one.why for one in read(engine, words).refused]


@pytest.mark.parametrize(
    ("engine", "words", "names", "value"),
    [
        ("sglang", "--speculative-algo EAGLE3", "--speculative-algorithm", "EAGLE3"),
        ("sglang", "--speculative-num-s=3", "--speculative-num-steps", "3"),
        ("sglang", "--tensor-parallel 8", "--tp-size", "8"),
        ("vllm", "m --tensor_parallel_s 4", "--tensor-parallel-size", "4"),
        ("vllm", "m -t 2", "--tensor-parallel-size", "2"),
        ("vllm", "m -tp=2", "--tensor-parallel-size", "2"),
        ("vllm", "m -q4", "--quantization", "4"),
        ("vllm", "m --spec-me eagle3", "--spec-method", "eagle3"),
        ("llama-cpp", "-md d --spec_type draft-eagle3", "--spec-type", "draft-eagle3"),
        ("llama-cpp", "-md d", "--model-draft", "d"),
        ("llama-cpp", "-c 4096 -ngl -1", "--gpu-layers", "-1"),
    ],
)
def test_a_flag_is_found_however_the_engine_lets_it_be_written(
    engine: str, words: str, names: str, value: str
) -> None:
    flags = read(engine, words)

    assert flags.last((names,)) == value
    assert flags.refused == ()


# What the parsers of vLLM 0.32 and of Python said of these words.
@pytest.mark.parametrize(
    ("engine", "words", "said"),
    [
        (
            "vllm",
            "m --spec x",
            "ambiguous option: --spec could match --specialize-active-lora, --speculative-config",
        ),
        ("vllm", "m --enforce-eager=1", "ignored explicit argument '1'"),
        ("vllm", "m --port", "argument --port: expected one argument"),
        ("vllm", "m -tp2", "unrecognized arguments: -tp2"),
        ("vllm", "m --no-such", "unrecognized arguments: --no-such"),
        ("sglang", "--speculative-draft d", "ambiguous option: --speculative-draft could match"),
        ("sglang", "--model_path d", "unrecognized arguments: --model_path"),
        ("sglang", "--spec-algo EAGLE3", "unrecognized arguments: --spec-algo"),
        ("sglang", "--cuda-graph-max-bs 8", "ambiguous option: --cuda-graph-max-bs could match"),
        ("llama-cpp", "--port=8085", "error: invalid argument: --port=8085"),
        ("llama-cpp", "-m x --port", "expected value for argument"),
    ],
)
def test_what_the_engine_refuses_is_said_in_its_words(engine: str, words: str, said: str) -> None:
    (found,) = refusals(engine, words)

    assert set(said.replace(",", "").split()) <= set(found.replace(",", "").split())


def test_a_flag_that_a_newer_version_gave_up_is_read_and_told_as_such() -> None:
    flags = read("sglang", "--model-path m --cuda-graph-bs 1 2 4 --port 31000")

    assert flags.last(("--cuda-graph-bs",)) == "1"
    assert flags.last(("--port",)) == "31000"
    assert [one.doubt for one in flags.refused] == [Doubt.FORMER]


def test_a_switch_takes_no_word_and_a_list_takes_all() -> None:
    assert read("vllm", "--enforce-eager /m").bare == "/m"
    assert read("vllm", "--served-model-name a b -tp 2 /m").bare == "/m"
    assert read("vllm", "--port 1 -- /m").bare == "/m"


def test_the_last_of_several_flags_counts_and_one_may_be_turned_off_again() -> None:
    flags = read("vllm", "m --port 1 --enable-expert-parallel --port 2")
    assert flags.last(("--port",)) == "2"
    assert flags.has(("--enable-expert-parallel",))

    assert not read("vllm", "m --no-enable-expert-parallel").has(("--enable-expert-parallel",))


def test_keys_given_one_by_one_replace_the_json_before_them() -> None:
    words = """m --speculative-config {"method":"eagle3"} -sc.model D --speculative-c.k=3"""

    assert read("vllm", words).keys(JSON) == {"k": 3}
    assert read("vllm", "m -sc.model D").keys(JSON) == {"model": "D"}
    assert read("vllm", 'm -sc {"model":"D"}').keys(JSON) == {"model": "D"}
    assert read("vllm", "m -sc {broken").keys(JSON) == {}


def test_a_program_of_which_no_flags_are_known_refuses_nothing() -> None:
    flags = parse_flags(["--seed_number", "-1", "--x=y", "word"], ["--seed-number"])

    assert flags.last(("--seed-number",)) == "-1"
    assert (flags.bare, flags.refused) == ("word", ())


def test_flags_are_declared_as_usage_shows_them() -> None:
    assert parse_option("--mmap / --no-mmap -nommap").negations == ("--no-mmap", "-nommap")
    assert parse_option("--api-key -k V...") == Option(("--api-key", "-k"), Takes.SOME)
    for wrong in ("port V", "", "--port V V V", "--port / no"):
        with pytest.raises(ValueError, match=r"flag|none of"):
            parse_option(wrong)


def test_a_profile_with_a_flag_that_is_none_says_where() -> None:
    text = 'schema = 1\nengine = "toy"\n[flags]\nread = "1"\ndeclared = ["--port", "port V"]\n'
    joined = join_files([SourceFile("toy.toml", text, None, is_builtin=False)])

    assert "port V" in str(error_of(joined.problems))
    with pytest.raises(ProfileError):
        raise error_of(joined.problems)


NAMES = ("--tp", "--tp-size", "--tp-rank", "--port", "--pool", "--eager", "--list", "-p", "-e")
TABLE = FlagTable(
    "1",
    (
        Option(("--tp", "--tp-size"), Takes.ONE),
        Option(("--tp-rank",), Takes.ONE),
        Option(("--port", "-p"), Takes.ONE),
        Option(("--pool",), Takes.MAYBE),
        Option(("--eager", "-e"), Takes.NOTHING),
        Option(("--list",), Takes.SOME),
    ),
)


def argparse_says(words: list[str]) -> dict[str, object] | None:
    """What Python's own parser makes of `words`; None where it refuses them."""
    parser = argparse.ArgumentParser(add_help=False, exit_on_error=False)
    kinds: dict[Takes, dict[str, object]] = {
        Takes.ONE: {},
        Takes.MAYBE: {"nargs": "?"},
        Takes.NOTHING: {"action": "store_true"},
        Takes.SOME: {"nargs": "+"},
    }
    for option in TABLE.declared:
        parser.add_argument(*option.names, **kinds[option.takes])  # type: ignore[arg-type]  # by name
    try:
        found, rest = parser.parse_known_args(words)
    except (argparse.ArgumentError, SystemExit):
        return None
    return None if any(word.startswith("-") for word in rest) else vars(found)


@given(
    st.lists(
        st.one_of(
            st.sampled_from(NAMES).flatmap(
                lambda name: st.integers(min(3, len(name)), len(name)).map(lambda size: name[:size])
            ),
            st.sampled_from(("a", "b", "--port=9", "--eag=1", "-p7", "--tp-s=2")),
        ),
        max_size=5,
    )
)
def test_words_are_read_as_argparse_reads_them(words: list[str]) -> None:
    flags = parse_flags(words, [], abbreviates=True, table=TABLE)
    said = argparse_says(words)

    if said is None:
        assert flags.refused
        return
    for option in TABLE.declared:
        value = said[option.names[0].lstrip("-").replace("-", "_")]
        if option.takes is Takes.NOTHING:
            assert flags.has(option.names) is value
        elif flags.given and flags.last(option.names) is not None:
            last = next(one for one in reversed(flags.given) if option.names[0] in one.names)
            assert last.value == (value[0] if isinstance(value, list) else value)
