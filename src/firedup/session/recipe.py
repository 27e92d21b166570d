"""What a keeper needs to conclude by itself how its server is, made from the engine's profile."""

from __future__ import annotations

import re
from collections.abc import Iterable

from firedup.core.event import Exited, PortOwner
from firedup.core.measure.completion import build_request
from firedup.core.model import Ownership, Process, Stage
from firedup.core.rule import Rule
from firedup.core.verdict import patience, vital
from firedup.core.verdict.crew import MATTERS_BYTES
from firedup.core.verdict.ending import SIGNAL_NAMES, cause_of_exit, cause_of_loss, cause_of_owner
from firedup.core.verdict.liveness import (
    DEFAULT_PATIENCE_S,
    MIN_CPU_SHARE,
    MIN_GROWTH_BYTES,
    MIN_READ_BYTES,
    PATIENCE_S,
    STOPPED_PATIENCE_S,
)
from firedup.core.verdict.motion import WINDOW_S, Hold
from firedup.core.verdict.vital import Loss
from firedup.host.http import KeySource
from firedup.host.manifest import KeyPlace, Limits, Recipe, Route, Sign, VitalParts
from firedup.probe.target import Target
from firedup.probe.token import (
    CANNOT_GENERATE,
    DEADLINE_S,
    PROMPT,
    TOKENS_PLAIN,
    TOKENS_SPECULATING,
)
from firedup.profile.pattern import PatternError, parse_pattern
from firedup.session.prober import RETRY_TOKEN_S

# How long a keeper that has concluded something leaves the telling to a client that watches.
CLIENT_GRACE_S = 15.0
# Between two questions while the health route says no, and while it says yes and no token comes:
# the first pause and the longest. They are rarer than a client's, for nobody waits.
HEALTH_PAUSES_S = (1.0, 5.0)
TOKEN_PAUSES_S = (RETRY_TOKEN_S, 60.0)
# Between the tries to post to an address.
POST_PAUSES_S = (2.0, 10.0)

_PATIENCE = patience.Patience()
# A keeper knows no stages, so it has the patience of the most patient one.
LIMITS = Limits(
    cpu_share=MIN_CPU_SHARE,
    read_bytes=MIN_READ_BYTES,
    growth_bytes=MIN_GROWTH_BYTES,
    patience_s=max(DEFAULT_PATIENCE_S, *PATIENCE_S.values()),
    frozen_s=STOPPED_PATIENCE_S,
    hold_s={
        Hold.STOPPED: _PATIENCE.stopped_s,
        Hold.PIPE: _PATIENCE.pipe_s,
        Hold.KERNEL: _PATIENCE.kernel_s,
    },
    odd_s=max(_PATIENCE.odd_s(stage, is_even=True) for stage in Stage),
    spin_s=_PATIENCE.spin_s,
    window_s=WINDOW_S,
    rank_read_bytes=patience.RANK_READ_BYTES,
    rank_growth_bytes=patience.RANK_GROWTH_BYTES,
    rank_minor_faults=patience.RANK_MINOR_FAULTS,
    rank_major_faults=patience.RANK_MAJOR_FAULTS,
    spin_share=patience.SPIN_SHARE,
    idle_share=patience.IDLE_SHARE,
    gpu_growth_bytes=patience.GPU_GROWTH_BYTES,
    gpu_use_percent=patience.GPU_USE_PERCENT,
    matters_bytes=MATTERS_BYTES,
)


def make_recipe(target: Target, rules: Iterable[Rule]) -> Recipe:
    """The recipe for the server at `target`, by the `rules` of its engine."""
    spec, rules = target.spec, tuple(rules)
    model = spec.served_name or spec.model
    tokens = TOKENS_SPECULATING if spec.asks_for_speculation else TOKENS_PLAIN
    return Recipe(
        ready=_signs(rule for rule in rules if rule.stage is Stage.READY),
        stop=_signs(rule for rule in rules if rule.is_stop),
        hides_ready_line=spec.hides_ready_line,
        bind=spec.bind,
        address=target.address,
        port=spec.port,
        tls=spec.has_tls,
        health=spec.health_path or target.http.health or "/health",
        generates=spec.purpose not in CANNOT_GENERATE,
        token=tuple(
            Route(path, build_request(path, model, PROMPT, tokens))
            for path in target.http.completions
        ),
        token_s=DEADLINE_S,
        key=_key_place(target.key) if target.key is not None else None,
        limits=LIMITS,
        causes=_name_causes(),
        grace_s=CLIENT_GRACE_S,
        health_pauses_s=HEALTH_PAUSES_S,
        token_pauses_s=TOKEN_PAUSES_S,
        post_pauses_s=POST_PAUSES_S,
        vital=VitalParts(spec.vital, vital.PATIENCE_S, vital.STEADY_S),
    )


def _signs(rules: Iterable[Rule]) -> tuple[Sign, ...]:
    """The patterns as Python on the host reads them; the few that it could not are left out."""
    found = []
    for rule in rules:
        try:
            re.compile(rule.pattern.encode())
            fixed = parse_pattern(rule.pattern).fixed
        except (re.error, PatternError):
            continue
        found.append(Sign(rule.pattern, fixed or ()))
    return tuple(found)


def _key_place(source: KeySource) -> KeyPlace:
    return KeyPlace(
        options=source.options,
        file_options=source.file_options,
        env=source.env,
        separator=source.separator,
        abbreviates=source.abbreviates,
    )


def _name_causes() -> dict[str, str]:
    """The classes of the causes that no log line tells: by signal, of memory, of the port."""

    def name(signal: int, *, oom_killed: bool) -> str:
        end = Exited(0, 0, 0, None, signal, oom_killed=oom_killed)
        return cause_of_exit(end, None, was_ready=False).failure

    silent = name(0, oom_killed=False)
    known = {str(number): name(number, oom_killed=False) for number in SIGNAL_NAMES}
    told = {number: failure for number, failure in known.items() if failure != silent}
    port = cause_of_owner(PortOwner(0, 0, Ownership.NO), None).failure
    gone = Loss(Process(0, 0, 0, "", "S", 0.0, 0), 0)
    dead = cause_of_loss(gone, None, None).failure
    return told | {"vital": dead, "oom": name(9, oom_killed=True), "port": port}
