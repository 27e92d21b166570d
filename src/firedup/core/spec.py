"""What a command line says about the server that it starts."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ServerSpec:
    """What a command line says about the server it starts; None where it says nothing.

    `argv` is kept letter for letter. `purpose` is "generate", "embedding", "prefill", "decode" or
    "follower" (a node rank above 0); only "generate" can be asked for a token.
    """

    argv: tuple[str, ...] = ()
    engine: str | None = None
    bind: str | None = None  # the address it listens on
    port: int | None = None
    model: str | None = None
    served_name: str | None = None
    draft: str | None = None
    algorithm: str | None = None
    tensor_parallel: int | None = None
    purpose: str = "generate"
    health_path: str | None = None
    has_api_key: bool = False
    has_tls: bool = False
    hides_ready_line: bool = False  # the log level keeps the engine's ready line out of the log
    derived_ports: tuple[int, ...] = ()
    vital: tuple[str, ...] = ()  # how titles of processes begin without which it serves nothing
    variables: tuple[tuple[str, str], ...] = ()  # given with the command, those remedies speak of

    @property
    def asks_for_speculation(self) -> bool:
        """Whether the command wants speculative decoding."""
        return self.draft is not None or self.algorithm not in (None, "none")
