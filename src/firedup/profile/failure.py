"""Families and classes of failure: how files write them, and what their rules take from them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from firedup.core.model import Stage
from firedup.core.rule import Role, Rule
from firedup.profile.problem import Problem, label_of, nearest
from firedup.profile.schema import Entry, FailureClass, Family
from firedup.profile.table import Table

OTHER = "other"  # the family of classes that name none
_KEBAB = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_MENTION = re.compile(r"--?[A-Za-z0-9][\w.-]*|[A-Z][A-Z0-9_]*")


@dataclass(frozen=True, slots=True)
class Classes:
    """The families and classes of all files, and what was wrong with them."""

    families: tuple[Family, ...]
    classes: tuple[FailureClass, ...]
    problems: tuple[Problem, ...]


def read_family(t: Table) -> Family:
    """A [[family]] table."""
    return Family(_identifier(t, "a family"), t.text("title") or "", t.text("meaning") or "")


def read_class(t: Table) -> FailureClass:
    """A [[class]] table; only id and meaning are needed, for a class of a user's own."""
    identifier = _identifier(t, "a class")
    meaning = t.text("meaning") or ""
    if not meaning:
        t.complain("a class needs meaning", todo="One sentence that holds for all of its rules.")
    return FailureClass(
        id=identifier,
        family=t.text("family") or OTHER,
        title=t.text("title") or identifier.replace("-", " ").capitalize(),
        meaning=meaning,
        remedy=t.text("remedy"),
        remedies=read_remedies(t),
        mentions=read_mentions(t),
        sources=t.texts("sources"),
        awaits_ranks=t.flag("awaits_ranks"),
        by_stage=t.flag("by_stage"),
        place=t.place("id"),
        family_place=t.place("family") if t.has("family") else None,
    )


def read_remedies(t: Table) -> dict[Stage, str]:
    """What to do, by stage."""
    return {
        stage: text
        for word, text in t.mapping("remedies").items()
        if (stage := t.choose(word, "remedies", Stage)) is not None
    }


def read_mentions(t: Table) -> tuple[str, ...]:
    """The flags and variables whose values in a run are worth naming beside the remedy."""
    mentions = t.texts("mentions")
    for word in mentions:
        if not _MENTION.fullmatch(word):
            what = f'mentions has "{word}", which is neither a flag nor a variable'
            t.complain(what, "mentions", todo='Such as "--port", "-ngl" or "NCCL_ALGO".')
        elif mentions.count(word) > 1:
            t.complain(f'mentions has "{word}" twice', "mentions")
            break
    return mentions


def join_classes(found: Sequence[tuple[FailureClass | Family, bool]]) -> Classes:
    """All families and classes, each with whether it is built in; the user's replace those."""
    families: dict[str, Family] = {}
    classes: dict[str, tuple[FailureClass, bool]] = {}
    problems: list[Problem] = []
    for item, is_builtin in found:
        if isinstance(item, Family):
            families[item.id] = item
            continue
        if item.id in classes and classes[item.id][1] == is_builtin:
            what = f"class {item.id}: the id is taken"
            evidence = (f"first used at {classes[item.id][0].place}",)
            problems.append(Problem(what, item.place, evidence, "A class is described once."))
            continue
        classes[item.id] = (item, is_builtin)
    for item, _ in classes.values():
        if item.family not in families:
            what = f"class {item.id}: the family cannot be used"
            todo = f"Families: {', '.join(families)}."
            pointed = _pointed("family", item.family, "no such family")
            near = nearest(item.family, families)
            place = item.family_place or item.place
            problems.append(
                Problem(what, place, pointed, f'Did you mean "{near}"?' if near else todo)
            )
    return Classes(
        tuple(families.values()), tuple(item for item, _ in classes.values()), tuple(problems)
    )


def with_class(entry: Entry, classes: Mapping[str, FailureClass]) -> Entry | Problem:
    """The entry with what its class says where the rule says nothing, or what is wrong."""
    rule = entry.rule
    if rule.failure is None:
        return entry
    described = classes.get(rule.failure)
    if described is None:
        near = nearest(rule.failure, classes)
        todo = "A class of your own needs a [[class]] table with id and meaning."
        return Problem(
            f"{label_of(rule)}: the class cannot be used",
            entry.class_place or entry.place,
            _pointed("class", rule.failure, "no such class"),
            f'Did you mean "{near}"? {todo}' if near else todo,
        )
    return replace(entry, rule=_filled(rule, described))


def _filled(rule: Rule, described: FailureClass) -> Rule:
    is_shown = rule.role in (Role.CAUSE, Role.KIND)
    has_remedy = bool(rule.remedy or rule.remedies) or not is_shown
    return replace(
        rule,
        meaning=rule.meaning or described.meaning,
        remedy=rule.remedy if has_remedy else described.remedy,
        remedies=rule.remedies if has_remedy else described.remedies,
        mentions=rule.mentions or described.mentions,
        awaits_ranks=rule.awaits_ranks or described.awaits_ranks,
        by_stage=rule.by_stage or described.by_stage,
    )


def _identifier(t: Table, what: str) -> str:
    identifier = t.text("id")
    if identifier is None:
        t.complain(f'{what} needs id = "…"')
    elif not _KEBAB.fullmatch(identifier):
        t.complain(f'id "{identifier}" is not kebab-case', "id", todo="Such as disk-full.")
    return identifier or ""


def _pointed(key: str, value: str, why: str) -> tuple[str, str]:
    """The value with marks below it, as patterns are shown."""
    return f'{key} = "{value}"', f"{' ' * (len(key) + 4)}{'^' * len(value)} {why}"
