"""The launch command has flags that the engine's own parser refuses, or may refuse.

SGLang and vLLM read their flags with argparse: a beginning that several flags share, a switch with
a value, a flag without one, and a flag that a newer version gave up end the launch at once.
llama.cpp takes flags written out in full, and never `--flag=value`.
"""

from __future__ import annotations

from collections.abc import Iterator

from firedup.core.checked import CheckFinding, Consequence, Harm
from firedup.core.model import Evidence
from firedup.core.version import parse_version
from firedup.drafter.case import Case
from firedup.drafter.judge import is_within
from firedup.profile.flagname import Doubt
from firedup.profile.flags import Refused

IDS = {
    "flag-refused": "The engine's parser refuses a flag of the launch command.",
    "flag-unknown": "A flag of the launch command is in no version of the engine that was read.",
}


def check(case: Case) -> Iterator[CheckFinding]:
    """All words that are not taken; those that no version has are told together."""
    launch = case.launch
    if launch.engine is None or case.engine not in (None, launch.engine):
        return
    strange = [one for one in launch.refused if one.doubt is Doubt.UNKNOWN]
    for one in launch.refused:
        if one not in strange:
            yield _refused(case, launch.engine, one)
    if strange:
        yield _unknown(case, launch.engine, strange)


def _refused(case: Case, engine: str, one: Refused) -> CheckFinding:
    read = case.launch.read
    versions = f">={read}" if parse_version(read) else ""
    is_certain = one.doubt is Doubt.NONE or case.version is not None
    harm = Harm.CRASH if is_certain else Harm.RISK
    is_unclear = one.why.startswith("ambiguous")
    remedy = "Write the flag out in full." if is_unclear else "Correct it as the engine says."
    if one.doubt is Doubt.FORMER:
        remedy = f"Look for what took its place in the help of {read}."
    return CheckFinding(
        "flag-refused",
        harm,
        "flags",
        f"{one.word} is not taken.",
        (Evidence("command", one.word),),
        (Consequence(engine, versions, harm, one.why),),
        remedy,
    )


def _unknown(case: Case, engine: str, found: list[Refused]) -> CheckFinding:
    read = case.launch.read
    words = list(dict.fromkeys(one.word.partition("=")[0] for one in found))
    # A version older or newer than those that were read may have it.
    is_read = case.version is not None and is_within(case.version, f"=={read}")
    harm = Harm.CRASH if is_read else Harm.RISK
    said = f"unrecognized arguments: {' '.join(words)}"
    return CheckFinding(
        "flag-unknown",
        harm,
        "flags",
        f"No version that was read has {', '.join(words)}.",
        tuple(Evidence("command", word) for word in words),
        (Consequence(engine, "", harm, said),),
        "Look for a slip in its name; a plug-in or a version that was not read may have it.",
    )
