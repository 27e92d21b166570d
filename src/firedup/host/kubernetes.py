"""The hop into a pod of Kubernetes."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from firedup.host.base import Trouble

_LOGIN = "Log in to the cluster again: your token is not valid any more."
_CONFIG = "kubectl config get-contexts shows which cluster is asked; KUBECONFIG names the file."
# What kubectl prints (in lower case), what that means, and what to do; {0} is the pod as a log
# source, {1} kubectl's words for its namespace. The first that is found counts.
_COMPLAINTS = (
    (
        "executable file not found",
        Trouble.NO_PYTHON,
        (
            "The image holds no such interpreter. The server can be watched from outside: "
            "firedup watch {0}"
        ),
    ),
    (
        "exit code 127",
        Trouble.NO_PYTHON,
        (
            "The image holds no such interpreter. The server can be watched from outside: "
            "firedup watch {0}"
        ),
    ),
    ("you must be logged in", Trouble.OTHER, _LOGIN),
    ("(unauthorized)", Trouble.OTHER, _LOGIN),
    (
        "pods/exec",
        Trouble.OTHER,
        (
            "You may not run programs in this pod: ask for the right to create pods/exec. "
            "Its log may be readable all the same: firedup watch {0}"
        ),
    ),
    ("(forbidden)", Trouble.OTHER, "kubectl auth can-i --list{1} shows what you may do."),
    ("did you specify the right host or port", Trouble.UNREACHED, _CONFIG),
    ("unable to connect to the server", Trouble.UNREACHED, _CONFIG),
    ("no configuration has been provided", Trouble.UNREACHED, _CONFIG),
    ("error loading config file", Trouble.UNREACHED, _CONFIG),
    ("invalid configuration", Trouble.UNREACHED, _CONFIG),
    ("error: context ", Trouble.UNREACHED, _CONFIG),
    ("(notfound): namespaces", Trouble.NO_PLACE, "kubectl get namespaces lists the namespaces."),
    (
        "is not valid for pod",
        Trouble.NO_PLACE,
        "The pod has no container of that name: kubectl describe pod{1} shows those that it has.",
    ),
    (
        "container not found",
        Trouble.NO_PLACE,
        "The container does not run now. Why: firedup watch {0}",
    ),
    (
        "in a completed pod",
        Trouble.NO_PLACE,
        "The pod has ended. Read why: firedup watch {0}",
    ),
    (
        "does not have a host assigned",
        Trouble.NO_PLACE,
        "The pod waits for a node: kubectl describe pod{1} says for what.",
    ),
    ("notfound", Trouble.NO_PLACE, "kubectl get pods{1} lists the pods."),
    ("not found", Trouble.NO_PLACE, "kubectl get pods{1} lists the pods."),
)


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
        """No shell is on the way, and joined to what precedes it no name is an option."""
        inside = (f"--container={self.container}",) if self.container else ()
        place = (*self.namespace_words, f"pod/{self.name}")
        return ("kubectl", "exec", "-i", *inside, *place, "--", *program)

    @property
    def namespace_words(self) -> tuple[str, ...]:
        """How kubectl is told the namespace."""
        return (f"--namespace={self.namespace}",) if self.namespace else ()

    def explain(self, status: int | None, stderr: str) -> tuple[Trouble, str] | None:  # noqa: ARG002 - all hops have this form
        """By what kubectl prints."""
        said = stderr.lower()
        space = f" {shlex.join(self.namespace_words)}" if self.namespace else ""
        for words, trouble, todo in _COMPLAINTS:
            if words in said:
                return trouble, todo.format(shlex.quote(self.word), space)
        return None


def parse_pod(text: str) -> Pod | None:
    """The pod of `[NAMESPACE/]POD[:CONTAINER]`; None for what names none."""
    place, _, container = text.partition(":")
    namespace, slash, name = place.rpartition("/")
    is_whole = name and (namespace or not slash) and "/" not in namespace
    if not is_whole or any(part.startswith("-") for part in (namespace, name, container)):
        return None
    return Pod(name, namespace or None, container or None)
