"""llama-server's flags as the demo's engine reads them."""

import pytest

from firedup.demo.flag import FLAGS, LOUDEST, FlagError, parse_flags


def test_every_flag_that_the_demo_uses_reaches_its_option():
    command = (
        "-m t.gguf --spec-draft-model d.gguf --spec-type draft-eagle3,ngram-cache"
        " --spec-draft-n-max 5 --spec-draft-n-min 1 --spec-draft-p-min 0.25 --host ::1 --port 81"
        " --ctx-size 512 --threads 3 -np 2 --metrics --no-warmup -lv 4"
    )

    options = parse_flags(command.split())

    assert (options.model, options.draft) == ("t.gguf", "d.gguf")
    assert options.speculation == ("draft-eagle3", "ngram-cache")
    assert (options.draft_most, options.draft_least, options.draft_p_min) == (5, 1, 0.25)
    assert (options.host, options.port) == ("::1", 81)
    assert (options.context, options.threads, options.parallel) == (512, 3, 2)
    assert (options.has_warmup, options.verbosity) == (False, 4)


@pytest.mark.parametrize("name", ["-md", "--model-draft", "--spec-draft-model"])
def test_the_drafter_goes_by_three_names(name):
    assert parse_flags(["-m", "t", name, "d"]).draft == "d"


def test_verbose_is_the_loudest_level():
    assert parse_flags(["-m", "t", "-v"]).verbosity == LOUDEST


def test_keys_of_several_flags_and_lists_add_up():
    assert parse_flags(["-m", "t", "--api-key", "a,b", "--api-key", "c"]).api_keys == tuple("abc")


def test_a_name_is_never_completed():
    with pytest.raises(FlagError, match="error: invalid argument: --mod"):
        parse_flags(["--mod", "t"])


def test_a_removed_flag_says_what_replaced_it():
    with pytest.raises(FlagError) as refusal:
        parse_flags(["-m", "t", "--draft-max", "8"])

    assert str(refusal.value).startswith(
        'error while handling argument "--draft-max": the argument has been removed.'
        " use --spec-draft-n-max"
    )


def test_an_unknown_speculation_names_the_value_and_shows_the_flag():
    with pytest.raises(FlagError) as refusal:
        parse_flags(["-m", "t", "--spec-type", "draft-bogus"])

    assert "unknown speculative type: draft-bogus" in str(refusal.value)
    assert "--spec-type VALUE" in str(refusal.value)


def test_a_value_that_is_missing_or_no_number_is_refused():
    with pytest.raises(FlagError, match="expected value for argument"):
        parse_flags(["-m"])
    with pytest.raises(FlagError, match='argument "--port"'):
        parse_flags(["-m", "t", "--port", "http"])


def test_a_model_is_required():
    with pytest.raises(FlagError, match="--model is required"):
        parse_flags(["--port", "80"])


def test_no_name_belongs_to_two_flags():
    names = [name for flag in FLAGS for name in flag.names]

    assert len(names) == len(set(names))
