"""The keeper's side of hooks: tells what was concluded, by a client or by itself, once each."""

import os
import time

from firedup.host.agent.hook import (
    HOOK_EVENTS,
    begin_telling,
    claim,
    claim_path,
    count_hooks,
    is_attended,
    make_payload,
    started_path,
    take_back_telling,
)
from firedup.host.agent.run import read_json
from firedup.host.agent.spawn import Helpers
from firedup.host.agent.tell import tell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Bell:
    """Call `heed` every second and whenever the keeper was woken."""

    def __init__(self, folder: str, manifest: "dict[str, Any]", helpers: Helpers) -> None:
        self._folder = folder
        self._manifest = manifest
        self._helpers = helpers
        self._left = [event for event in HOOK_EVENTS if count_hooks(manifest, event)]
        self._pending = {}  # type: dict[str, tuple[dict[str, Any], float]]
        self.wants = frozenset(self._left)
        self.grace_s = float((manifest.get("recipe") or {}).get("grace_s", 0.0))

    @property
    def is_waiting(self) -> bool:
        """Whether something was concluded and has not been told yet."""
        return bool(self._pending)

    @property
    def is_attended(self) -> bool:
        """Whether a client watches, who knows more and is to be the first to tell."""
        return is_attended(self._folder)

    def ring(self, event: str, facts: "dict[str, Any]") -> None:
        """The keeper has concluded `event`."""
        if event in self._left and event not in self._pending:
            self._pending[event] = (facts, time.monotonic())

    def heed(self) -> None:
        """Tells what is due."""
        for event in list(self._left):
            if os.path.exists(started_path(self._folder, event)):
                self._forget(event)
                continue
            if event in self._pending and not os.path.exists(claim_path(self._folder, event)):
                self._try_claim(event)
            if read_json(claim_path(self._folder, event)) is not None:
                self._begin(event)
        if self._pending and not os.path.isdir(self._folder):
            self._pending.clear()

    def _forget(self, event: str) -> None:
        self._left.remove(event)
        self._pending.pop(event, None)

    def _try_claim(self, event: str) -> None:
        facts, since = self._pending[event]
        if self.is_attended and time.monotonic() - since < self.grace_s:
            return
        try:
            claim(self._folder, event, make_payload(self._manifest, event, facts, "keeper"))
        except OSError:  # a full disk; there will be a next time
            pass

    def _begin(self, event: str) -> None:
        folder = self._folder
        try:
            is_ours = begin_telling(folder, event)
        except OSError:
            return
        if is_ours:
            try:
                self._helpers.start(lambda: tell(folder, event))
            except OSError:  # no more processes for now; a server may have them all
                take_back_telling(folder, event)
                return
        self._forget(event)
