"""The probe beside a server that wrote down what it did: counts exact, everything said."""

from __future__ import annotations

from bench.truth_probe import BARS, measure_probe


def test_counts_are_those_of_the_ledger_and_nothing_is_left_unsaid() -> None:
    figures, rows = measure_probe(8)

    exact = ("tokens_wrong", "acceptance_wrong", "replayed_times_wrong", "unsaid")
    assert {name: figures[name] for name in exact} == dict.fromkeys(exact, 0), "\n".join(rows)
    assert set(BARS) <= set(figures)
    assert figures["probe_requests"] == 2 * (2 + 8 + 16 + 8)
