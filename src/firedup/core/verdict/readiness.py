"""The answers that prove a server ready, and what is still waited for."""

from __future__ import annotations

from dataclasses import dataclass

from firedup.core.event import Health, PortOwner, Token
from firedup.core.model import Checks, Ownership, ServerSpec, Stage
from firedup.core.verdict.startup import Moment


@dataclass(slots=True)
class Readiness:
    """Collects the answers about one server. `feed` takes them as they come."""

    spec: ServerSpec
    health: Health | None = None
    owner: PortOwner | None = None
    token: Token | None = None
    has_answered: bool = False  # the health route said 200 at least once
    has_generated: bool = False  # a token came at least once

    def feed(self, event: Health | PortOwner | Token) -> None:
        """Take one answer; the newest of each kind counts."""
        match event:
            case Health():
                self.health = event
                self.has_answered = self.has_answered or event.status == 200
            case PortOwner():
                self.owner = event
            case Token():
                self.token = event
                self.has_generated = self.has_generated or event.has_answered

    def checks(self, *, log_ready: bool) -> Checks:
        """The four checks as they stand."""
        token = None
        if self.token is not None and not self.token.is_skipped:
            token = self.token.has_answered
        return Checks(
            log=log_ready,
            health=self.health.status if self.health else None,
            owner=self.owner.owner if self.owner else None,
            token=token,
            why_not=self.token.error if self.token else None,
        )

    @property
    def is_hung(self) -> bool:
        """Whether the newest request for a token was taken and never answered."""
        return self.token is not None and self.token.has_timed_out

    @property
    def has_ceased(self) -> bool:
        """Whether it generated once, and the newest request for a token brought none."""
        return self.has_generated and self.refusal is not None

    @property
    def refusal(self) -> str | None:
        """Why the newest request for a token brought none; None when it did or was not made."""
        token = self.token
        if token is None or token.has_answered or token.is_skipped:
            return None
        return token.error or "no token came"

    def is_refuted(self, ready: Moment | None) -> bool:
        """Whether it was asked since its log said that it is ready, and has never shown it.

        `ready` is when the log said so, None when it did not. What was asked before counts for
        nothing: a server that still loads answers nobody.
        """
        if ready is None or self.spec.port is None:
            return False
        since_ns = ready.host_ns or 0
        health, owner, token = self.health, self.owner, self.token
        has_no_health = health is not None and not self.has_answered and health.at_ns >= since_ns
        is_foreign = owner is not None and owner.owner is Ownership.NO and owner.at_ns >= since_ns
        has_no_token = token is not None and self.refusal is not None and token.at_ns >= since_ns
        return has_no_health or is_foreign or (has_no_token and not self.has_generated)

    def is_proven(self, *, log_ready: bool) -> bool:
        """Whether this server is ready beyond its own words.

        A server that has no port to ask is believed. Else its health route must have answered,
        no other process may own the port, and it must have generated a token where it can. Its
        own statement is needed unless its log level hides it or the socket is surely its own.
        """
        if self.spec.port is None:
            return log_ready
        ownership = self.owner.owner if self.owner else None
        is_closed = self.owner is not None and ownership is None  # nobody listens (any more)
        if is_closed or ownership is Ownership.NO or not self.has_answered or self.token is None:
            return False
        if not (self.token.has_answered or self.token.is_skipped):
            return False
        return log_ready or self.spec.hides_ready_line or ownership is Ownership.YES

    def waiting_for(
        self,
        stage: Stage | None,
        *,
        log_ready: bool,
        has_log: bool,
        is_missing: bool = False,
        is_over: bool = False,
    ) -> str:
        """What has to happen next, as a phrase."""
        if is_over:
            return "nothing more"
        if is_missing:
            return "the log to appear"
        if not has_log:
            return "the first bytes of the log"
        if not log_ready and not self.has_answered:
            return "the first stage" if stage is None else f"{stage.value} to finish"
        if self.spec.port is None:
            return "nothing more"
        if not self.has_answered:
            return "the health route to answer 200"
        if self.owner is None or self.owner.owner is None:
            return f"port {self.spec.port} to be opened"
        if self.token is None:
            return "the first token"
        return "nothing more" if log_ready else "the engine to say that it is ready"
