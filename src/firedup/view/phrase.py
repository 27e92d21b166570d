"""Facts of a snapshot as short phrases, the same words in every view."""

from __future__ import annotations

import re
import shlex

from firedup.core.model import (
    Checks,
    Finding,
    Ownership,
    Progress,
    RunLabel,
    Snapshot,
    Stage,
    State,
    Verdict,
)
from firedup.view.pace import Pace
from firedup.view.paper import MESSAGE_HEAD
from firedup.view.prefix import strip_advice, strip_prefix
from firedup.view.quantity import (
    render_duration,
    render_percent,
    render_remaining,
    render_size,
)
from firedup.view.redact import clean, clean_start

_PASSED = {
    Stage.ARGS: "have begun",
    Stage.DIST_INIT: "have met",
    Stage.LOAD_WEIGHTS: "have loaded",
    Stage.DRAFT_LOAD: "have the drafter",
    Stage.KV_CACHE: "have their cache",
    Stage.COMPILE: "have compiled",
    Stage.GRAPH_CAPTURE: "have captured",
    Stage.WARMUP: "are warm",
}
# Linux numbers: the server's host is Linux, whatever the reader's is.
_SIGNALS = {
    1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 5: "SIGTRAP", 6: "SIGABRT", 7: "SIGBUS",
    8: "SIGFPE", 9: "SIGKILL", 11: "SIGSEGV", 13: "SIGPIPE", 15: "SIGTERM", 24: "SIGXCPU",
    25: "SIGXFSZ", 31: "SIGSYS",
}  # fmt: skip
_UP = (Stage.READY, Stage.SERVING)
_LASTED = re.compile(r"\d[\d.,]*\s?(?:s|min|h|d|%)\b")  # durations and shares
_MOST_NAMED = 4
QUIET_S = 10.0
IDLE_CORES = 0.05
CAUSE_COLUMNS = MESSAGE_HEAD + 12  # of a cause on one line: its beginning and a bit of its end


def say_progress(progress: Progress, *, is_moving: bool = True) -> str:
    """Where the bar stands: "23/64 shards 36 % ~2 min left"; no forecast unless it moves."""
    unit = f" {clean(progress.unit)}" if progress.unit else ""
    left = ""
    if is_moving and progress.remaining_s is not None and progress.done < progress.total:
        left = f" {render_remaining(progress.remaining_s)} left"
    return f"{progress.done}/{progress.total}{unit} {render_percent(progress.fraction)}{left}"


def find_behind(snapshot: Snapshot) -> tuple[Stage, tuple[str, ...]] | None:
    """The earliest stage that some rank is in while another has passed it, and who is in it."""
    now = snapshot.explanation.stage
    if now is None or now in _UP or not snapshot.ranks:
        return None
    spans = {span.stage: span for span in snapshot.explanation.stages}
    order = [*spans, *(stage for stage in Stage if stage not in spans)]
    late: dict[Stage, list[str]] = {}
    past = set()  # who has left the present stage behind
    for rank in snapshot.ranks:
        if rank.has_finished:
            past |= {rank.rank} if rank.stage is now else set()
        elif rank.stage is not now:
            # A stage that came back stands before those that were passed since; these are over.
            is_over = rank.stage in spans and spans[rank.stage].is_over
            if is_over or order.index(rank.stage) < order.index(now):
                late.setdefault(rank.stage, []).append(rank.rank)
            else:
                past.add(rank.rank)
    if late:
        stage = min(late, key=order.index)
        return (stage, tuple(late[stage])) if len(late[stage]) < len(snapshot.ranks) else None
    behind = tuple(rank.rank for rank in snapshot.ranks if rank.rank not in past)
    return (now, behind) if past and behind else None


def say_ranks(snapshot: Snapshot) -> str:
    """Who is behind: "6 of 8 ranks have loaded; TP3, TP5 not"; "" when all are together."""
    found = find_behind(snapshot)
    if found is None:
        return ""
    stage, behind = found
    passed = len(snapshot.ranks) - len(behind)
    verb = say_passed(stage)
    if passed == 1:
        verb = verb.replace("have", "has", 1).replace("are", "is", 1).replace("their", "its", 1)
    return f"{passed} of {len(snapshot.ranks)} ranks {verb}; {join_names(behind)} not"


def say_passed(stage: Stage) -> str:
    """What ranks have done that left `stage` behind: "have loaded"."""
    return _PASSED.get(stage, f"are past {stage}")


def join_names(names: tuple[str, ...]) -> str:
    """A few names in full, many with their number: "TP0, TP1, TP2 and 3 more"."""
    shown = [clean(name) for name in names]
    if len(shown) > _MOST_NAMED + 1:
        return f"{', '.join(shown[:_MOST_NAMED])} and {len(shown) - _MOST_NAMED} more"
    return ", ".join(shown)


def say_checks(checks: Checks) -> list[str]:
    """Each check of readiness that was answered, as a statement."""
    said: list[str] = []
    if checks.log is not None:
        said.append("log says ready" if checks.log else "log does not say ready")
    if checks.health is not None:
        said.append(f"health answers {checks.health}")
    if checks.owner is not None:
        said.append(
            {
                Ownership.YES: "port is its own",
                Ownership.NO: "port belongs to another server",
                Ownership.UNKNOWN: "port owner unknown",
            }[checks.owner]
        )
    if checks.token is not None:
        said.append("token generated" if checks.token else "no token generated")
    if checks.why_not:
        said.append(clean(checks.why_not))
    return said


def say_processes(snapshot: Snapshot, pace: Pace) -> str:
    """What the server's processes do: pid, number, CPU, memory, reading; "" when none is known."""
    if not snapshot.processes:
        return ""
    memory = sum(process.rss_bytes for process in snapshot.processes)
    pids = {process.pid for process in snapshot.processes}
    main = next((p for p in snapshot.processes if p.parent not in pids), snapshot.processes[0])
    said = [f"pid {main.pid}" + (f" and {len(pids) - 1} more" if len(pids) > 1 else "")]
    if pace.cpu_cores is not None:
        idle = pace.cpu_cores < IDLE_CORES
        said.append("idle" if idle else f"{pace.cpu_cores:.1f} cores busy")
    said.append(f"{render_size(memory)} memory")
    if pace.read_bytes_per_s:
        said.append(f"reads {render_size(pace.read_bytes_per_s)}/s")
    return " · ".join(said)


def say_state(snapshot: Snapshot) -> str:
    """What is out of the ordinary about process and link; "" when nothing is."""
    match snapshot.state:
        case State.UNREACHED:
            return "there is no link to the host; the server's state is unknown"
        case State.UNKEPT:
            return "its keeper is gone: the exit status will not be known"
        case State.STOPPING:
            return "it is being stopped"
        case State.EXITED:
            return f"the process {say_exit(snapshot)}"
        case _:
            return ""


def name_for_shell(run: RunLabel) -> str:
    """What a command typed into a shell calls the run; its id where its name cannot be typed.

    One on another host is followed by --host.
    """
    name = run.name
    can_be_typed = name.isprintable() and clean(name) == name and not name.startswith("-")
    word = shlex.quote(name if can_be_typed and name else run.id)
    return word if run.host == "local" else f"{word} --host {shlex.quote(run.host)}"


def name_place(host: str, path: str) -> str:
    """A path, with its host before it where that is not this machine, as scp takes it."""
    return path if host == "local" else f"{host}:{path}"


def name_finding(finding: Finding) -> tuple[str, str]:
    """What makes a finding the same: how long it has lasted is another text each time."""
    return finding.id, _LASTED.sub("#", finding.message)


def find_after_s(snapshot: Snapshot) -> float | None:
    """How long after the beginning came what the verdict says; None when that is not known.

    Who looks later must not read the time of the look.
    """
    if snapshot.explanation.verdict is Verdict.READY:
        return snapshot.ready_after_s
    if snapshot.state is State.EXITED:
        return snapshot.ended_after_s
    return snapshot.elapsed_s or None


def say_stage(snapshot: Snapshot) -> str:
    """The stage, for how long; what its log calls ready is not called so before it is proved."""
    explanation, seconds = snapshot.explanation, snapshot.stage_elapsed_s
    is_claimed = explanation.stage in _UP and (
        snapshot.is_refuted or explanation.verdict is Verdict.LOADING
    )
    name = "not yet proved ready" if is_claimed else str(explanation.stage or "waiting")
    return name if seconds is None else f"{name} for {render_duration(seconds)}"


def say_exit(snapshot: Snapshot) -> str:
    """How the process ended."""
    if snapshot.exit_signal is not None:
        name = _SIGNALS.get(snapshot.exit_signal)
        return f"ended by signal {snapshot.exit_signal}" + (f" ({name})" if name else "")
    if snapshot.exit_code is not None:
        return f"ended with exit status {snapshot.exit_code}"
    return "ended; nobody saw its exit status"


def say_wait(snapshot: Snapshot) -> str:
    """What is waited for, unless that is no more than the end of the stage."""
    stage = snapshot.explanation.stage
    waiting = clean(snapshot.waiting_for)
    is_known = waiting == "nothing more" or (stage is not None and waiting.startswith(stage))
    return "" if is_known else waiting


def say_last_line(snapshot: Snapshot) -> str:
    """The last line that says something, without its prefix; "" when there is none."""
    line = snapshot.last_line
    return strip_prefix(clean_start(line.message or line.text)) if line else ""


def say_cause(snapshot: Snapshot) -> str:
    """Message of the first fault, without its prefix; "" while there is none."""
    cause = snapshot.explanation.cause
    return strip_advice(strip_prefix(clean(cause.line))) if cause else ""


def say_quiet(snapshot: Snapshot) -> str:
    """How long the log has said nothing, where that is worth a word."""
    if snapshot.quiet_s is None or snapshot.quiet_s < QUIET_S:
        return ""
    return f"quiet for {render_duration(snapshot.quiet_s)}"


def name_server(snapshot: Snapshot) -> list[str]:
    """What the server is: run, engine, models, port."""
    spec, explanation = snapshot.spec, snapshot.explanation
    engine = explanation.engine or spec.engine
    version = f" {explanation.version}" if explanation.version else ""
    model = _last_part(spec.served_name or spec.model)
    draft = _last_part(spec.draft)
    host = snapshot.run.host if snapshot.run else "local"
    parts = [
        snapshot.run.name if snapshot.run else None,
        f"{engine}{version}" if engine else None,
        f"{model} + {draft}" if model and draft else model,
        f"port {spec.port}" if spec.port is not None else None,
        f"on {host}" if host != "local" else None,
    ]
    return [clean(part) for part in parts if part]


def _last_part(path: str | None) -> str | None:
    return path.rstrip("/").rsplit("/", 1)[-1] if path else None
