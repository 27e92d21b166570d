"""What a catalogue holds: engine profiles, their rules, and the place in a file each came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from firedup.core.model import Stage
from firedup.core.rule import Rule

GENERIC = "generic"  # the profile of programs that no other profile knows
SHARED = "shared"  # the folder of rules that belong to no single engine


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a catalogue file, as shown to users."""

    path: str
    line: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"


@dataclass(frozen=True, slots=True)
class Command:
    """How an engine's command line is recognised and read; flags are written as typed."""

    programs: tuple[str, ...] = ()
    subcommands: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    scripts: tuple[str, ...] = ()
    model: tuple[str, ...] = ()
    model_positional: bool = False
    draft: tuple[str, ...] = ()
    algorithm: tuple[str, ...] = ()
    json_flag: tuple[str, ...] = ()
    draft_key: str | None = None
    algorithm_key: str | None = None
    tensor_parallel: tuple[str, ...] = ()
    bind: tuple[str, ...] = ()
    port: tuple[str, ...] = ()
    default_bind: str | None = None
    default_port: int | None = None
    served_name: tuple[str, ...] = ()
    api_key: tuple[str, ...] = ()
    api_key_file: tuple[str, ...] = ()
    api_key_env: tuple[str, ...] = ()
    api_key_separator: str | None = None
    tls: tuple[str, ...] = ()
    node_rank: tuple[str, ...] = ()
    embedding: tuple[str, ...] = ()
    split: tuple[str, ...] = ()
    log_level: tuple[str, ...] = ()
    quiet_levels: tuple[str, ...] = ()
    derived_ports: tuple[int, ...] = ()
    abbreviates: bool = False


class Takes(StrEnum):
    """How many words belong to a flag, as they are written behind its names."""

    NOTHING = ""
    ONE = "V"
    TWO = "V V"
    SOME = "V..."  # all that follow, up to the next flag
    ANY = "[V...]"  # the same, or none
    MAYBE = "[V]"


@dataclass(frozen=True, slots=True)
class Option:
    """One flag of an engine: its names, the first of them its own, and those that turn it off."""

    names: tuple[str, ...]
    takes: Takes = Takes.NOTHING
    negations: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FlagTable:
    """All flags of an engine's parser, as version `read` declares them; empty when not known.

    `former` are those that only earlier versions have. `exact`: a flag must be written out, and its
    value is the next word, whatever that is; else the parser is argparse. `underscores` may stand
    for dashes.
    """

    read: str = ""
    declared: tuple[Option, ...] = field(default=(), repr=False)
    former: tuple[Option, ...] = field(default=(), repr=False)
    exact: bool = False
    underscores: bool = False


@dataclass(frozen=True, slots=True)
class Compose:
    """Words of the command that `firedup run --engine …` builds; `{…}` are filled in."""

    command: tuple[str, ...] = ()
    target: tuple[str, ...] = ()
    draft: tuple[str, ...] = ()
    tensor_parallel: tuple[str, ...] = ()
    bind: tuple[str, ...] = ()
    port: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Http:
    """The routes of an engine's server; None or empty where it has none."""

    health: str | None = None
    completions: tuple[str, ...] = ()
    metrics: str | None = None
    info: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StopRow:
    """One step of stopping a server: which signal goes to whom, and how long it may take.

    Empty `stages` = all stages. `signal`: TERM, INT, KILL or QUIT. `to`: "main" (the server's main
    process) or "group" (its process group).
    """

    signal: str
    stages: tuple[Stage, ...] = ()
    to: str = "main"
    grace_s: float = 10.0


@dataclass(frozen=True, slots=True)
class EngineProfile:
    """What firedup knows about one engine, apart from its rules."""

    engine: str
    title: str
    extends: tuple[str, ...] = ()
    command: Command = Command()
    compose: Compose = Compose()
    http: Http = Http()
    stop: tuple[StopRow, ...] = ()
    flags: FlagTable = FlagTable()
    vital: tuple[str, ...] = ()  # how titles of processes begin without which it serves nothing


@dataclass(frozen=True, slots=True)
class Family:
    """A group of classes of failure, such as "GPU memory"."""

    id: str
    title: str
    meaning: str = ""


@dataclass(frozen=True, slots=True)
class FailureClass:
    """One class of failure, over all engines: what its rules say unless they say it themselves.

    `sources` are places to read on: addresses, or documents by name.
    """

    id: str
    family: str
    title: str
    meaning: str
    remedy: str | None = None
    remedies: Mapping[Stage, str] = field(default_factory=dict)
    mentions: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    awaits_ranks: bool = False
    by_stage: bool = False
    place: Place = Place("", 0)
    family_place: Place | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """A rule with what only its file says: `also` names rules that may hit the same examples.

    `class_place` is where the file says the rule's class, None when it says none.
    """

    rule: Rule
    place: Place
    also: tuple[str, ...] = ()
    class_place: Place | None = None


@dataclass(frozen=True, slots=True)
class Catalogue:
    """Profiles and rules together. `digest` names the content, for caches."""

    profiles: tuple[EngineProfile, ...] = ()
    entries: tuple[Entry, ...] = field(default=(), repr=False)
    digest: str = ""
    families: tuple[Family, ...] = ()
    classes: tuple[FailureClass, ...] = field(default=(), repr=False)

    @property
    def engines(self) -> tuple[str, ...]:
        """The names of the engines that have a profile, without "generic"."""
        return tuple(p.engine for p in self.profiles if p.engine != GENERIC)

    @property
    def mentioned_variables(self) -> frozenset[str]:
        """The environment variables that remedies speak of."""
        mentions = (word for entry in self.entries for word in entry.rule.mentions)
        return frozenset(word for word in mentions if not word.startswith("-"))

    def failure_class(self, failure: str) -> FailureClass | None:
        """What is known of the class called `failure`, or None when it is not known.

        The name may end with the stage, as that of a cause does where the class is told by stage.
        """
        names = [failure, *(failure.removesuffix(f"-{s}") for s in Stage if failure.endswith(s))]
        return next(
            (c for c in self.classes if c.id == failure or (c.by_stage and c.id in names)), None
        )

    def profile(self, engine: str | None) -> EngineProfile | None:
        """The profile of `engine`, or None when there is none."""
        return next((p for p in self.profiles if p.engine == engine), None)

    def rules_for(self, engine: str | None) -> tuple[Rule, ...]:
        """The rules that apply to `engine`, its own first, in catalogue order.

        None = the engine is not known (yet): the rules of all engines and the shared ones, but
        not those of "generic", whose words would hit almost anything.
        """
        if engine is None:
            return tuple(e.rule for e in self.entries if e.rule.engine != GENERIC)
        profile = self.profile(engine)
        folders: list[str] = [engine, *(profile.extends if profile else (SHARED,))]
        return tuple(
            entry.rule
            for folder in folders
            for entry in self.entries
            if (entry.rule.engine or SHARED) == folder
        )
