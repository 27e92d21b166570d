"""Launch commands as people type them."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firedup.core.error import UsageError
from firedup.core.model import Stage
from firedup.profile.command import read_command
from firedup.profile.compose import compose_command
from firedup.profile.flags import parse_flags
from firedup.profile.schema import (
    Catalogue,
    Command,
    Compose,
    EngineProfile,
    Http,
    StopRow,
)
from firedup.profile.stop import stop_steps

TOY = EngineProfile(
    "toy",
    "Toy",
    command=Command(
        programs=("toy",),
        subcommands=("serve",),
        modules=("toy.server",),
        scripts=("toy/serve.py",),
        model=("--model", "-m"),
        model_positional=True,
        draft=("--draft-model",),
        algorithm=("--algorithm",),
        json_flag=("--speculation", "-s"),
        draft_key="model",
        algorithm_key="method",
        tensor_parallel=("--tensor-parallel-size", "-tp"),
        bind=("--host",),
        port=("--port",),
        default_bind="127.0.0.1",
        default_port=7000,
        served_name=("--served-name",),
        api_key=("--api-key",),
        api_key_env=("TOY_KEY",),
        tls=("--certificate",),
        node_rank=("--node-rank",),
        embedding=("--embedding", "--runner=pooling"),
        split=("--split",),
        log_level=("--log-level",),
        quiet_levels=("warning",),
        derived_ports=(1, 1000),
        abbreviates=True,
    ),
    compose=Compose(
        command=("toy", "serve", "{target}"),
        draft=("--speculation", '{"method":"eagle3","model":"{draft}"}'),
        tensor_parallel=("-tp", "{tp}"),
        port=("--port", "{port}"),
    ),
    http=Http(health="/health"),
    stop=(
        StopRow("INT", (Stage.LOAD_WEIGHTS,), "main", 3.0),
        StopRow("KILL", (Stage.LOAD_WEIGHTS,), "group", 2.0),
        StopRow("TERM", (), "main", 9.0),
    ),
)
GENERIC = EngineProfile(
    "generic",
    "unknown",
    command=Command(model=("--model",), port=("--port", "-p"), bind=("--host",)),
    http=Http(health="/health"),
)
CATALOGUE = Catalogue((TOY, GENERIC))


def read(command: str, **env: str):
    return read_command(shlex.split(command), env, CATALOGUE)


@pytest.mark.parametrize(
    "command",
    [
        "toy serve --port 7100",
        "/opt/venv/bin/toy serve --port=7100",
        "python -m toy.server --port 7100",
        "/usr/bin/python3.11 -u -X dev -m toy.server --port 7100",
        "python3 /opt/venv/bin/toy serve --port 7100",
        "python src/toy/serve.py --port 7100",
        "nohup toy serve --port 7100",
        "env A=1 -u B toy serve --port 7100",
        "CUDA_VISIBLE_DEVICES=0,1 numactl --membind 0 nice -n 5 toy serve --port 7100",
        "taskset -c 0-7 stdbuf -oL python3 -m toy.server --port 7100",
        "uv run --no-sync toy serve --port 7100",
        "bash -lc 'cd /srv && source venv/bin/activate; exec toy serve --port 7100'",
        "docker run --rm --gpus all --network host image:1 toy serve --port 7100",
        "toy serve --port 1 --port 7100",
        "toy serve --por 7100",
    ],
)
def test_the_engine_is_found_behind_any_wrapper(command: str) -> None:
    spec = read(command)

    assert spec.engine == "toy"
    assert spec.port == 7100
    assert spec.argv == tuple(shlex.split(command))
    assert spec.health_path == "/health"


@pytest.mark.parametrize(
    "command",
    [
        "toy bench --port 1",
        "python -m toy.client --port 1",
        "python toy_serve.py --port 1",
        "./start.sh -p 1",
    ],
)
def test_other_programs_are_no_engine_but_common_flags_are_read(command: str) -> None:
    spec = read(command)

    assert spec.engine is None
    assert spec.port == 1


def test_defaults_stand_where_nothing_is_said() -> None:
    spec = read("toy serve")

    assert (spec.bind, spec.port, spec.derived_ports) == ("127.0.0.1", 7000, (7001, 8000))
    assert (spec.model, spec.draft, spec.algorithm, spec.tensor_parallel) == (None,) * 4
    assert spec.purpose == "generate"
    assert not spec.has_api_key


@pytest.mark.parametrize(
    ("command", "model"),
    [
        ("toy serve /m/target --port 1", "/m/target"),
        ("toy serve --port 1 /m/target", "/m/target"),
        ("toy serve /m/other --model /m/target", "/m/target"),
        ("toy serve -m /m/target", "/m/target"),
        ("toy serve --unknown value --port 1", None),
    ],
)
def test_the_model_is_a_flag_or_the_first_bare_word(command: str, model: str | None) -> None:
    assert read(command).model == model


@pytest.mark.parametrize(
    "command",
    [
        "toy serve M --draft-model D --algorithm eagle3",
        """toy serve M --speculation '{"model": "D", "method": "eagle3", "k": 3}'""",
        """toy serve M -s '{"model": "D", "method": "eagle3"}'""",
        "toy serve M --speculation.model D --speculation.method=eagle3",
    ],
)
def test_drafter_and_algorithm_are_read_from_flags_and_json(command: str) -> None:
    spec = read(command)

    assert (spec.draft, spec.algorithm) == ("D", "eagle3")
    assert spec.asks_for_speculation


@pytest.mark.parametrize("text", ["not json", "[1]", '{"model": 3}', ""])
def test_broken_json_is_no_drafter(text: str) -> None:
    spec = read_command(["toy", "serve", "M", "--speculation", text], {}, CATALOGUE)

    assert spec.draft is None


@pytest.mark.parametrize(
    ("flags", "purpose"),
    [
        ("--embedding", "embedding"),
        ("--runner pooling", "embedding"),
        ("--runner generate", "generate"),
        ("--split prefill", "prefill"),
        ("--split decode", "decode"),
        ("--split null", "generate"),
        ("--node-rank 1", "follower"),
        ("--node-rank 0", "generate"),
    ],
)
def test_what_the_server_is_for(flags: str, purpose: str) -> None:
    assert read(f"toy serve M {flags}").purpose == purpose


def test_keys_certificates_and_quiet_levels_are_noticed() -> None:
    spec = read("toy serve M --api-key abc --certificate c.pem --log-level WARNING")

    assert spec.has_api_key
    assert spec.has_tls
    assert spec.hides_ready_line


def test_a_key_in_the_environment_counts() -> None:
    assert read("toy serve M", TOY_KEY="abc").has_api_key
    assert read("TOY_KEY=abc toy serve M").has_api_key
    assert not read("toy serve M", TOY_KEY="").has_api_key


def test_a_key_appears_in_argv_only() -> None:
    spec = read("toy serve M --api-key very-secret")

    others = [getattr(spec, name) for name in spec.__slots__ if name != "argv"]
    assert "very-secret" not in map(str, others)


def test_a_port_that_is_no_number_is_not_guessed() -> None:
    assert read("toy serve M --port '$PORT'").port == 7000


def test_underscores_are_dashes_in_long_flags() -> None:
    assert read("toy serve M --tensor_parallel_size 8").tensor_parallel == 8


def test_a_negative_number_is_a_value() -> None:
    flags = parse_flags(["--seed", "-1", "word"], ["--seed"])

    assert flags.last(["--seed"]) == "-1"
    assert flags.bare == "word"


@given(st.lists(st.text(max_size=12), max_size=8))
def test_no_command_is_too_strange(words: list[str]) -> None:
    assert read_command(words, {}, CATALOGUE).argv == tuple(words)
    assert read_command(["bash", "-c", " ".join(words)], {}, CATALOGUE).argv[0] == "bash"


def test_a_command_is_composed_in_the_profiles_words() -> None:
    words = compose_command(
        CATALOGUE, "toy", target="/m/T", draft='/m/"D"', tensor_parallel=8, port=7100, extra=["--x"]
    )

    assert words == (
        "toy", "serve", "/m/T", "--speculation", '{"method":"eagle3","model":"/m/\\"D\\""}',
        "-tp", "8", "--port", "7100", "--x",
    )  # fmt: skip


def test_a_composed_command_is_read_back() -> None:
    words = compose_command(CATALOGUE, "toy", target="T", draft="D", tensor_parallel=2, port=7)
    spec = read_command(words, {}, CATALOGUE)

    assert (spec.engine, spec.model, spec.draft, spec.tensor_parallel, spec.port) == (
        "toy", "T", "D", 2, 7,
    )  # fmt: skip


def test_what_an_engine_cannot_do_is_refused() -> None:
    with pytest.raises(UsageError, match="Toy has no setting for --host"):
        compose_command(CATALOGUE, "toy", target="T", host="::1")


def test_an_unknown_engine_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(UsageError) as caught:
        compose_command(CATALOGUE, "tay", target="T")

    assert 'Did you mean "toy"?' in str(caught.value)


def test_the_stop_table_escalates_within_the_stage() -> None:
    steps = stop_steps(TOY, Stage.LOAD_WEIGHTS)

    assert [(s.signal, s.to, s.grace_s) for s in steps] == [
        ("INT", "main", 3.0),
        ("KILL", "group", 2.0),
    ]


def test_a_stop_always_ends_with_kill_to_the_group() -> None:
    steps = stop_steps(TOY, Stage.SERVING)

    assert [(s.signal, s.to) for s in steps] == [("TERM", "main"), ("KILL", "group")]


@pytest.mark.parametrize("profile", [None, GENERIC])
def test_without_a_table_the_usual_steps_are_taken(profile: EngineProfile | None) -> None:
    assert [s.signal for s in stop_steps(profile, None)] == ["TERM", "KILL"]
