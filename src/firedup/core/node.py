"""One node of a run on several hosts, as views show it, and what is known of its clock."""

from __future__ import annotations

from dataclasses import dataclass

from firedup.core.word import Stage, State, Verdict


@dataclass(frozen=True, slots=True)
class ClockOffset:
    """How far a host's clocks are ahead of the client's, measured over the link.

    `boot_ns`: host boottime less the client's steady clock, by which instants of several hosts are
    compared. `wall_ns`: host wall time less the client's, which is for show. Both are right to
    within `uncertainty_ns`, half of the quickest round trip.
    """

    boot_ns: int
    wall_ns: int
    uncertainty_ns: int


@dataclass(frozen=True, slots=True)
class NodeState:
    """What goes on at one node. `label` is its host, made unique; rank 0 is the head.

    `fraction` is how full its bar is, None without one. `offset_s` is how far its wall clock is
    ahead of the client's, right to within `uncertainty_s`; None where that was not measured.
    """

    label: str
    host: str
    rank: int
    verdict: Verdict
    stage: Stage | None = None
    state: State = State.WAITING
    fraction: float | None = None
    offset_s: float | None = None
    uncertainty_s: float | None = None
    log: str | None = None


def label_hosts(hosts: tuple[str, ...]) -> tuple[str, ...]:
    """A name for each node: its host, with its rank where the host has several nodes."""
    return tuple(
        host if hosts.count(host) == 1 else f"{host}#{rank}" for rank, host in enumerate(hosts)
    )
