"""Acceptance that a server was told to make up is recognised by how it was told."""

from __future__ import annotations

import pytest

from firedup.core.measure.simulated import find_simulation


@pytest.mark.parametrize(
    ("flags", "environment", "found"),
    [
        (("serve",), {"SGLANG_SIMULATE_ACC_LEN": "2.5"}, "SGLANG_SIMULATE_ACC_LEN=2.5"),
        (("llama-server", "--spec-synth-len", "2.5"), {}, "--spec-synth-len 2.5"),
        (("llama-server", "--spec-synth-rates=0.7,0.5"), {}, "--spec-synth-rates 0.7,0.5"),
        (
            (
                "vllm",
                "--speculative-config",
                '{"rejection_sample_method": "synthetic", "synthetic_acceptance_length": 2.5}',
            ),
            {},
            "synthetic_acceptance_length 2.5",
        ),
        (
            ("--speculative-config.rejection_sample_method", "synthetic"),
            {},
            "rejection_sample_method synthetic",
        ),
    ],
)
def test_each_engines_way_is_known(
    flags: tuple[str, ...], environment: dict[str, str], found: str
) -> None:
    why = find_simulation(flags, environment)

    assert why is not None
    assert why.startswith(found)


@pytest.mark.parametrize(
    ("flags", "environment"),
    [
        (None, None),
        ((), {"SGLANG_SIMULATE_ACC_LEN": "-1"}),
        ((), {"SGLANG_SIMULATE_ACC_LEN": "none"}),
        (("--speculative-config", '{"method": "eagle3"}'), {}),
        (("--speculative-config", "{broken"), {}),
        (("--speculative-config",), {}),
    ],
)
def test_a_server_that_verifies_is_not_suspected(
    flags: tuple[str, ...] | None, environment: dict[str, str] | None
) -> None:
    assert find_simulation(flags, environment) is None
