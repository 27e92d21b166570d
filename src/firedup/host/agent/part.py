"""Runs a module of the agent's program when something of it is needed, after those it needs.

Most agents and keepers use a part of the program; what they do not use costs neither the time to
compile it nor memory.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_HEADER = b"# ---- "  # how a module begins: its name, a colon, the names of those it needs
_present = set()  # type: set[str]


def load(name: str) -> None:
    """Runs the module `name` unless that was done before. For the thread that serves alone.

    Modules are compiled one by one, without docstrings: the peak of a whole program would stay
    with the process for good. The header stands for a module in tracebacks.
    """
    if name in _present:
        return
    _present.add(name)
    source = globals()["SOURCE"]
    begin = source.index(_HEADER + name.encode("ascii") + b":")
    end = source.find(b"\f", begin)
    text = source[begin : len(source) if end < 0 else end]
    for needed in text.partition(b"\n")[0].decode("ascii").partition(":")[2].split():
        load(needed)
    code = compile(text, f"# ---- {name}", "exec", dont_inherit=True, optimize=2)
    exec(code, globals())  # noqa: S102 - a part of this very program


def find(place: str) -> "Any":
    """What `place`, such as "file.op_stat", names: a module of the agent and a name in it."""
    module, _, name = place.partition(".")
    load(module)
    return globals()[name]


if __name__ == "__main__":
    _present.add("part")
    load("main")
