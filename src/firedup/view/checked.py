"""What a check of a drafter found, for people on one screen and as JSON."""

from __future__ import annotations

from collections.abc import Mapping

from firedup.core.checked import NOT_READ, Checked, CheckFinding, Harm, grave
from firedup.view.headline import render_section
from firedup.view.paper import Paper, count_columns, pad
from firedup.view.quantity import render_count
from firedup.view.record import SCHEMA
from firedup.view.redact import clean
from firedup.view.unfit import name_fault

_LOOKS = {
    Harm.CRASH: ("✗", "red"),
    Harm.SILENT_LOSS: ("✗", "yellow"),
    Harm.RISK: ("!", "yellow"),
    Harm.NOTE: ("·", "faint"),
}
_WORDS = {
    Harm.CRASH: ("the server would crash", "crash", "crashes"),
    Harm.SILENT_LOSS: (
        "accepts less than it could, without a word",
        "silent loss",
        "silent losses",
    ),
    Harm.RISK: ("harm under some conditions", "risk", "risks"),
    Harm.NOTE: ("worth knowing", "note", "notes"),
}
_MOST_WHOLE = 4  # findings with evidence and consequences; of the rest the message alone
_MOST_SKIPPED = 3
_MOST_EVIDENCE = 5


def render_checked(checked: Checked, paper: Paper, *, has_all: bool = False) -> str:
    """The whole statement, without a final line break; `has_all` leaves nothing out."""
    lines = _headline(checked, paper)
    lines += render_section("the pair", _facts(checked, paper), paper)
    left = len(checked.findings) if has_all else _MOST_WHOLE
    for harm in Harm:
        found = [one for one in checked.findings if one.harm is harm]
        body: list[str] = []
        for one in found:
            body += _finding(one, checked, paper, is_whole=left > 0 and (has_all or _is_grave(one)))
            left -= 1
        lines += render_section(f"{_WORDS[harm][1]}: {_WORDS[harm][0]}", body, paper)
    lines += render_section("not checked", _skipped(checked, paper, has_all=has_all), paper)
    if not has_all and (left < 0 or any(not _is_grave(one) for one in checked.findings)):
        lines += ["", paper.paint("--all shows the evidence of every finding.", "faint")]
    return paper.finish(lines)


def _is_grave(one: CheckFinding) -> bool:
    return one.harm in {Harm.CRASH, Harm.SILENT_LOSS}


def _headline(checked: Checked, paper: Paper) -> list[str]:
    counts = {harm: sum(one.harm is harm for one in checked.findings) for harm in Harm}
    told = [render_count(count, *_WORDS[harm][1:]) for harm, count in counts.items() if count]
    if grave(checked.findings):
        head, tone = f"✗ {name_fault(checked.findings)}", "red"
    elif any(one.id == NOT_READ and one.subject == "draft" for one in checked.findings):
        head, tone = "! the drafter's weights were not read", "yellow"
    else:
        head, tone = "✓ nothing speaks against this drafter", "green"
    engine = " ".join(part for part in (checked.engine, checked.version) if part)
    asked = f"for {clean(engine)}" if engine else "for all engines that are known"
    tail = " · ".join([asked, *told])
    first = paper.paint(head, tone, "bold")
    if count_columns(head) + count_columns(tail) + 2 <= paper.columns:
        return [f"{first}  {tail}"]
    return [first, *paper.fold(tail, indent="  ")]


def _facts(checked: Checked, paper: Paper) -> list[str]:
    width = max((count_columns(name) for name, _ in checked.facts), default=0)
    lines = []
    for name, value in checked.facts:
        head = f"  {pad(name, width)}  "
        lines += paper.fold(clean(value), indent=head, rest=" " * count_columns(head))
    return lines


def _finding(one: CheckFinding, checked: Checked, paper: Paper, *, is_whole: bool) -> list[str]:
    symbol, tone = _LOOKS[one.harm]
    name = clean(one.id)
    folded = paper.fold(f"{name}: {clean(one.message)}", indent="  ! ", rest="    ")
    painted = paper.paint(symbol, tone, "bold") + " " + paper.paint(f"{name}:", tone)
    lines = [folded[0].replace(f"! {name}:", painted, 1), *folded[1:]]
    if is_whole:
        lines += _evidence(one, checked, paper)
        for engines, text in _merge(one, has_engine=checked.engine is not None):
            head = f"    {engines}: " if engines else "    "
            lines += paper.fold(clean(text), indent=head, rest="      ")
    if one.remedy:
        lines += paper.fold(clean(one.remedy), indent="    → ")
    return lines


def _evidence(one: CheckFinding, checked: Checked, paper: Paper) -> list[str]:
    """What was seen, with the folders of the two called by what they are."""
    lines = []
    for evidence in one.evidence[:_MOST_EVIDENCE]:
        text = clean(evidence.text)
        for path, name in ((checked.draft, "drafter"), (checked.target, "target")):
            for place in (path, path.rpartition(":")[2]):
                text = text.replace(f"{place.rstrip('/')}/", f"{name}/")
        lines += paper.fold(text, indent="    ", rest="      ")
    if len(one.evidence) > _MOST_EVIDENCE:
        lines.append(f"    and {len(one.evidence) - _MOST_EVIDENCE} more")
    return [paper.paint(line, "faint") for line in lines]


def _merge(finding: CheckFinding, *, has_engine: bool) -> list[tuple[str, str]]:
    """(engines, what they do): those that do the same on one line.

    The heading tells the worst harm; where an engine does less, that is said with its name.
    """
    merged: dict[tuple[Harm, str], list[str]] = {}
    for one in finding.consequences:
        where = "" if has_engine else one.engine
        name = f"{where} {one.versions}".strip()
        merged.setdefault((one.harm, one.text), []).append(name)
    found = []
    for (harm, text), names in merged.items():
        engines = ", ".join(filter(None, dict.fromkeys(names)))
        less = "" if harm is finding.harm else f"({_WORDS[harm][1]})"
        found.append((" ".join(filter(None, (engines, less))), text))
    return found


def _skipped(checked: Checked, paper: Paper, *, has_all: bool) -> list[str]:
    shown = checked.skipped if has_all else checked.skipped[:_MOST_SKIPPED]
    lines = []
    for name, why in shown:
        lines += paper.fold(f"{clean(name)}: {clean(why)}", indent="  ", rest="    ")
    if len(shown) < len(checked.skipped):
        lines.append(f"  and {len(checked.skipped) - len(shown)} more")
    return [paper.paint(line, "faint") for line in lines]


def record_checked(
    checked: Checked, pages: Mapping[str, str | None] | None = None
) -> dict[str, object]:
    """The same for programs. `pages` has the page of each id."""
    return {
        "schema": SCHEMA,
        "target": checked.target,
        "draft": checked.draft,
        "engine": checked.engine,
        "version": checked.version,
        "fits": checked.exit_status == 0,
        "worst": None if checked.worst is None else checked.worst.value,
        "findings": [_record(one, (pages or {}).get(one.id)) for one in checked.findings],
        "facts": dict(checked.facts),
        "skipped": [{"check": name, "why": why} for name, why in checked.skipped],
        "read_bytes": checked.read_bytes,
    }


def _record(one: CheckFinding, page: str | None) -> dict[str, object]:
    return {
        "id": one.id,
        "harm": one.harm.value,
        "subject": one.subject,
        "message": one.message,
        "evidence": [{"kind": item.kind, "text": item.text} for item in one.evidence],
        "consequences": [
            {
                "engine": item.engine,
                "versions": item.versions,
                "harm": item.harm.value,
                "text": item.text,
            }
            for item in one.consequences
        ],
        "remedy": one.remedy,
        "fixable": one.fixable,
        "page": page,
    }
