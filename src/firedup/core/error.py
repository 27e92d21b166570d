"""The one exception family, whose messages say what, where, evidence, why and what to do."""

from __future__ import annotations


class FiredupError(Exception):
    """A problem that is explained to the user instead of shown as a traceback.

    `what` is the headline; the other parts are optional and printed in this order. `exit_status`
    is the documented exit status of the command that fails with it.
    """

    exit_status = 2

    def __init__(
        self,
        what: str,
        *,
        where: str | None = None,
        evidence: str | None = None,
        why: str | None = None,
        todo: str | None = None,
    ) -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.evidence = evidence
        self.why = why
        self.todo = todo

    def __str__(self) -> str:
        parts = [self.what]
        parts += [f"  {part}" for part in (self.where, self.evidence, self.why) if part]
        if self.todo:
            parts.append(self.todo)
        return "\n".join(parts)


class UsageError(FiredupError):
    """The command was used in a way that cannot work (exit status 2)."""


class ProfileError(FiredupError):
    """A profile or catalogue file breaks its contract (exit status 2)."""


class RefusedError(FiredupError):
    """A launch that is doomed was refused before it began (exit status 1)."""

    exit_status = 1


class IncomparableError(FiredupError):
    """Two measurements that may not be held against each other (exit status 1)."""

    exit_status = 1


class MeasureError(FiredupError):
    """A measurement came to nothing: no conclusion (exit status 6)."""

    exit_status = 6


class HostError(FiredupError):
    """The host was not reached or contact was lost (exit status 3)."""

    exit_status = 3


class StoreError(FiredupError):
    """A run folder or the index cannot be read or written (exit status 2)."""
