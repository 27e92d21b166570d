"""The hop into a pod of Kubernetes."""

from __future__ import annotations

from dataclasses import dataclass

from firedup.host.base import Trouble


@dataclass(frozen=True, slots=True)
class Pod:
    """The pod `name`; None for `namespace` and `container` takes kubectl's defaults."""

    name: str
    namespace: str | None = None
    container: str | None = None

    @property
    def word(self) -> str:
        """As in `--host`."""
        place = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"k8s:{place}:{self.container}" if self.container else f"k8s:{place}"

    def wrap(self, program: tuple[str, ...]) -> tuple[str, ...]:
        """No shell is on the way."""
        place = ("-n", self.namespace) if self.namespace else ()
        inside = ("-c", self.container) if self.container else ()
        return ("kubectl", "exec", "-i", *place, self.name, *inside, "--", *program)

    def explain(self, status: int | None, stderr: str) -> tuple[Trouble, str] | None:  # noqa: ARG002
        """By what kubectl prints."""
        if "NotFound" in stderr or "not found" in stderr:
            return Trouble.NO_PLACE, "kubectl get pods --all-namespaces lists the pods."
        return None
