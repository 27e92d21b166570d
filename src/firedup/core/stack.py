"""Stacks of a server's processes as they were taken at one moment, equal ones gathered."""

from __future__ import annotations

from dataclasses import dataclass

KERNEL = "kernel"  # the file of a frame of the kernel's own


@dataclass(frozen=True, slots=True)
class Frame:
    """One call of a stack: `file` as the stack names it, or "kernel"; `line` None if not known."""

    function: str
    file: str = ""
    line: int | None = None

    @property
    def place(self) -> str:
        """File and line, as far as they are known."""
        return self.file if self.line is None else f"{self.file}:{self.line}"

    def __str__(self) -> str:
        return f"{self.function} ({self.place})" if self.file else self.function


@dataclass(frozen=True, slots=True)
class Wait:
    """What a frame means. `for_others`: the process waits for other ranks of the same server.

    `is_generic`: so wait many things, and a frame further out may say more.
    """

    id: str
    meaning: str
    for_others: bool = False
    is_generic: bool = False


@dataclass(frozen=True, slots=True)
class StackMember:
    """One process: `name` is its rank or title, `state` the letter of /proc, `threads` how many.

    `by` says how its stack was taken: py-spy, faulthandler, kernel or none.
    """

    name: str
    pid: int
    state: str = ""
    by: str = "none"
    threads: int = 0


@dataclass(frozen=True, slots=True)
class StackGroup:
    """Processes with equal stacks; `frames` are those of the main thread, innermost first.

    `frames` holds the first of them, `hidden` is how many more there were. `meaning` is what `at`,
    a frame of the stack, says of it; empty where nothing is known. `is_odd`: the others agree or
    wait, and these do not. `parts_at` is the last call that these have in common with the largest
    group, `parts_to` the call that only they made from there. `why_not`: why no more could be seen.
    `waits_for_others` and `is_generic` are as in `Wait`.
    """

    members: tuple[StackMember, ...]
    frames: tuple[Frame, ...] = ()
    hidden: int = 0
    is_rank: bool = False
    is_odd: bool = False
    wait: str | None = None
    meaning: str = ""
    waits_for_others: bool = False
    is_generic: bool = True
    at: Frame | None = None
    parts_at: Frame | None = None
    parts_to: Frame | None = None
    why_not: str = ""


@dataclass(frozen=True, slots=True)
class Stacks:
    """All stacks that were taken at `at_ns` (host boottime), the ranks first, large groups first.

    `wall_ns` is the same moment by the host's wall clock. `path` is the file on the host that has
    the whole text, None where it was not kept.
    """

    at_ns: int
    wall_ns: int | None = None
    groups: tuple[StackGroup, ...] = ()
    path: str | None = None

    @property
    def has_any(self) -> bool:
        """Whether anything was seen of any process."""
        return any(group.frames for group in self.groups)

    @property
    def odd(self) -> tuple[StackGroup, ...]:
        """The groups that stand apart."""
        return tuple(group for group in self.groups if group.is_odd)
