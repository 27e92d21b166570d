"""Reads files of variables on the host: their values go to the server and nowhere else."""

import os
import re

from firedup.host.agent.begin import to_bytes
from firedup.host.agent.system import AgentError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_PAIR = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
_ONE_A_LINE = "Write one NAME=value per line; quotes around the value are optional."


class VariableError(AgentError):
    """A file of variables that cannot be used; nothing that it says shows a value."""

    def __init__(self, what: str, evidence: "str | None" = None, **rest: str) -> None:
        super().__init__("bad-variables", what, evidence)
        self.why, self.todo = rest.get("why"), rest.get("todo")


def op_variables(args: "dict[str, Any]") -> "dict[str, Any]":
    """variables {paths}: what files of variables hold, without a single value.

    Result: {files: [{path, names, error?: {what, evidence?, why?, todo?}}]}.
    """
    files = []
    for path in args["paths"]:
        found = {"path": variables_path(path), "names": [], "error": None}  # type: dict[str, Any]
        try:
            found["names"] = [name for name, _ in read_variables(path)]
        except VariableError as error:
            found["error"] = {"what": error.what, "evidence": error.evidence}
            found["error"].update(why=error.why, todo=error.todo)
        files.append(found)
    return {"files": files}


def variables_path(path: str) -> str:
    """The absolute path: a relative one begins at the home on this host."""
    return os.path.join(os.path.expanduser("~"), os.path.expanduser(path))


def read_variables(path: str) -> "list[tuple[str, str]]":
    """The `K=V` lines of a file; blank lines, `#` comments and `export ` are allowed."""
    path = variables_path(path)
    try:
        with open(to_bytes(path), "rb") as file:
            text = file.read().decode("utf-8-sig")
    except OSError as error:
        why = error.strerror or str(error)
        raise VariableError(f"the environment file {path} cannot be read", why=why) from error
    except UnicodeDecodeError as error:  # its text would show what stands there
        why = f"byte {error.start} is no UTF-8"
        raise VariableError(f"the environment file {path} cannot be read", why=why) from None
    pairs = []
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.strip()
        if line.startswith("export "):
            line = line[len("export ") :].strip()
        if line and not line.startswith("#"):
            pairs.append(_read_pair(line, f"line {number} of {path}"))
    return pairs


def _read_pair(line: str, where: str) -> "tuple[str, str]":
    found = _PAIR.match(line)
    if found is None:  # all of the line may be a secret
        raise VariableError(f"{where} is no K=V pair", todo=_ONE_A_LINE)
    name, value = found.groups()
    if "\0" in value:
        raise VariableError(f"{where} holds a zero byte", f"line     {name}=…")
    if value[:1] in ("'", '"') and (len(value) == 1 or value[-1] != value[0]):
        raise VariableError(
            f"{where} has a quote without its other half",
            f"line     {name}=…",
            todo="Close the quote on the same line, or leave both out.",
        )
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        value = value[1:-1]
    return name, value
