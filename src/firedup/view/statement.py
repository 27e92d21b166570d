"""The last word on a watched server: verdict, evidence, cause, and what can be done next."""

from __future__ import annotations

from firedup.core.model import Acceptance, Snapshot, State, Verdict
from firedup.view.cause import render_cause, render_findings, render_followed
from firedup.view.comparison import render_comparison
from firedup.view.doubt import render_notes, render_way_out
from firedup.view.headline import render_headline, render_section
from firedup.view.nodes import find_log_host, say_nodes
from firedup.view.pace import Pace
from firedup.view.paper import COMPACT_BELOW, Paper, count_columns, pad
from firedup.view.phrase import (
    find_after_s,
    name_for_shell,
    name_place,
    name_server,
    say_checks,
    say_exit,
    say_last_line,
    say_processes,
    say_progress,
    say_quiet,
    say_ranks,
    say_stage,
    say_state,
    say_wait,
)
from firedup.view.quantity import render_duration, render_figure
from firedup.view.redact import clean
from firedup.view.stack import render_stacks

LEFT_BEHIND = "left-behind"  # the finding about processes that outlived their server
# A server that has only just come up has not served yet.
SERVED_FROM_S = 60.0
_ALIVE = (Verdict.READY, Verdict.LOADING, Verdict.STALLED, Verdict.TIMED_OUT, Verdict.LOST)


def render_statement(snapshot: Snapshot, paper: Paper) -> str:
    """The statement that stays on the screen, without a final line break."""
    explanation = snapshot.explanation
    after_s = find_after_s(snapshot)
    lines = render_headline(
        explanation,
        name_server(snapshot),
        paper,
        after_s=after_s,
        is_refuted=snapshot.is_refuted,
    )
    if explanation.verdict is Verdict.READY:
        lines += _readiness(snapshot, paper)
    else:
        lines += _seen(snapshot, paper)
    if explanation.cause:
        lines += render_section(
            "cause", render_cause(explanation.cause, paper), paper, is_joined=True
        )
    lines += render_comparison(explanation.since_good, paper)
    followed = render_followed(explanation.followed, paper, cause=explanation.cause)
    lines += render_section("what followed", followed, paper)
    lines += render_section("findings", render_findings(explanation.findings, paper), paper)
    host = snapshot.run.host if snapshot.run and not snapshot.nodes else "local"
    lines += render_stacks(explanation.stacks, paper, host=host)
    lines += render_section("notes", render_notes(explanation, paper), paper)
    lines += render_way_out(explanation, paper)
    lines += _hints(snapshot, paper)
    return paper.finish(lines)


def say_acceptance(acceptance: Acceptance) -> str:
    """Acceptance with what it was counted from, or why there is none."""
    if acceptance.length is None:
        return clean(acceptance.why_not or "the server does not say")
    counted = []
    if acceptance.rate is not None:
        counted.append(f"rate {render_figure(acceptance.rate)}")
    if acceptance.accepted is not None and acceptance.proposed is not None:
        counted.append(f"{acceptance.accepted:,} of {acceptance.proposed:,} draft tokens")
    if acceptance.steps is not None:
        counted.append(f"{acceptance.steps:,} steps")
    if acceptance.source:
        counted.append(clean(acceptance.source))
    tail = f" ({', '.join(counted)})" if counted else ""
    return f"{acceptance.length:.2f}{tail}"


def _readiness(snapshot: Snapshot, paper: Paper) -> list[str]:
    facts = [("evidence", " · ".join(say_checks(snapshot.checks)))]
    if (served := snapshot.explanation.served_s) is not None and served >= SERVED_FROM_S:
        facts.append(("served", f"for {render_duration(served)}"))
    if snapshot.first_text is not None:
        text = " ".join(clean(snapshot.first_text).split())
        facts.append(("first tokens", f"“{paper.cut(text, 2 * paper.columns)}”"))
    if snapshot.acceptance:
        facts.append(("acceptance length", say_acceptance(snapshot.acceptance)))
    if snapshot.nodes:
        facts.append(("nodes", say_nodes(snapshot)))
    return _facts(facts, paper)


def _seen(snapshot: Snapshot, paper: Paper) -> list[str]:
    """What was last seen of a server that is not ready, as far as it is known."""
    explanation = snapshot.explanation
    is_loading = explanation.verdict is Verdict.LOADING
    is_over = explanation.verdict is Verdict.UNKNOWN and snapshot.is_final
    if explanation.verdict in (Verdict.CRASHED, Verdict.STOPPED) or explanation.exited:
        end = say_exit(snapshot) if snapshot.state is State.EXITED else say_state(snapshot)
        if not end and explanation.exited is False:
            end = "has not ended yet"
        served = explanation.served_s
        facts = [("process", end)]
        facts.append(("served", render_duration(served) if served else ""))
    else:
        progress, has_stage = snapshot.progress, snapshot.stage_elapsed_s is not None
        facts = [
            ("stage", say_stage(snapshot) if has_stage else ""),
            ("progress", say_progress(progress, is_moving=is_loading) if progress else ""),
            ("ranks", say_ranks(snapshot)),
            ("waits for", "" if is_over else say_wait(snapshot)),
            ("checks", "" if is_over else " · ".join(say_checks(snapshot.checks))),
            ("log", say_quiet(snapshot)),
            ("processes", say_processes(snapshot, Pace())),
            ("served", render_duration(explanation.served_s) if explanation.served_s else ""),
            ("note", say_state(snapshot)),
        ]
    facts.append(("nodes", say_nodes(snapshot)))
    if not explanation.cause and say_last_line(snapshot):
        facts.append(
            (
                "last line",
                paper.cut_middle(say_last_line(snapshot), max(80, 2 * paper.columns - 40)),
            )
        )
    if snapshot.log_path and not is_loading:
        place = name_place(find_log_host(snapshot), snapshot.log_path)
        facts.append(("log file", clean(place)))
    return _facts([fact for fact in facts if fact[1]], paper)


def _facts(facts: list[tuple[str, str]], paper: Paper) -> list[str]:
    lines: list[str] = []
    is_wide = paper.columns >= COMPACT_BELOW
    most = max((count_columns(label) for label, _ in facts), default=0)
    columns = most + 2 if is_wide else 0
    for label, text in facts:
        head = paper.paint(pad(label, columns), "faint") if is_wide else f"{label}: "
        if label == "log file":  # whole, so that it can be copied, even where it is too long
            fits = 2 + count_columns(head + text) <= paper.columns
            lines += [f"  {head}{text}"] if fits else [f"  {head}", f"    {text}"]
        elif is_wide:
            folded = paper.fold(text, indent=" " * (2 + columns))
            lines += [f"  {head}{folded[0].lstrip()}", *folded[1:]]
        else:
            lines += paper.fold(head + text, indent="  ", rest="    ")
    return lines


def _hints(snapshot: Snapshot, paper: Paper) -> list[str]:
    """What can be done next with a run; nothing for a server that no command knows by name."""
    if snapshot.run is None or not snapshot.run.id:
        return []
    name = name_for_shell(snapshot.run)
    if snapshot.explanation.verdict in _ALIVE and snapshot.state is not State.EXITED:
        is_lost = snapshot.explanation.verdict is Verdict.LOST
        title = "when the host is reached again" if is_lost else "the server goes on"
        hints = [(f"firedup attach {name}", "watch it"), (f"firedup stop {name}", "end it")]
    else:
        title = "next"
        hints = [
            (f"firedup logs {name}", "read the log"),
            (f"firedup restart {name}", "start it again"),
        ]
        if snapshot.state in (State.SERVING, State.STARTING):
            hints.append((f"firedup stop {name}", "end what is left of it"))
        if any(finding.id == LEFT_BEHIND for finding in snapshot.explanation.findings):
            hints.insert(0, (f"firedup stop {name}", "end what is left of it"))
        if any(node.state in (State.SERVING, State.STARTING) for node in snapshot.nodes):
            hints.append((f"firedup stop {name}", "end the other nodes"))
    widest = max(count_columns(command) for command, _ in hints)
    fits = widest + 18 <= paper.columns
    body = [
        f"  {paper.paint(pad(command, widest), 'cyan')}"
        + (f"  {paper.paint(effect, 'faint')}" if fits else "")
        for command, effect in hints
    ]
    return render_section(title, body, paper)
