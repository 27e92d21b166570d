"""Makes frozen values as the standard library's dataclass does, in a fraction of the time.

The standard decorator writes six functions as text for each class and has them compiled. A command
that meets eighty such classes spends a third of its start on that. Here one is written, the rest
is shared; whatever is not asked for in the usual way is left to the standard library.
"""

from __future__ import annotations

import dataclasses
import sys
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, NoReturn

_MISSING = dataclasses.MISSING


def _decorate(*, frozen: bool = False, slots: bool = False) -> Any:
    """`dataclasses.dataclass` for classes of plain fields: equal, hashable, copied and pickled."""
    return _freeze if frozen and slots else dataclasses.dataclass(frozen=frozen, slots=slots)


def _freeze(cls: type) -> type:
    if hasattr(cls, "__post_init__"):
        return dataclasses.dataclass(frozen=True, slots=True)(cls)
    made: Any = dataclasses.dataclass(init=False, repr=False, eq=False, slots=True)(cls)
    fields = dataclasses.fields(made)
    if not all(one.init and one.compare and not one.kw_only for one in fields):
        raise TypeError(f"{cls.__name__}: such fields are for dataclasses.dataclass")
    names = tuple(one.name for one in fields)
    shown = tuple(one.name for one in fields if one.repr)
    made.__init__ = _write_init(made, fields)
    read = _reader(names)

    def is_equal(self: object, other: object) -> Any:
        return read(self) == read(other) if other.__class__ is self.__class__ else NotImplemented

    def state(self: object) -> Any:
        return read(self)

    def render(self: object) -> str:
        inner = ", ".join(f"{name}={getattr(self, name)!r}" for name in shown)
        return f"{self.__class__.__qualname__}({inner})"

    def set_state(self: object, state: tuple[object, ...]) -> None:
        for name, value in zip(names, state, strict=True):
            object.__setattr__(self, name, value)

    made.__eq__, made.__repr__ = is_equal, recursive_repr()(render)
    made.__hash__ = lambda self: hash(read(self))
    made.__getstate__, made.__setstate__ = state, set_state
    made.__setattr__, made.__delattr__ = _refuse_to_set, _refuse_to_delete
    return made  # type: ignore[no-any-return]


def _reader(names: tuple[str, ...]) -> Any:
    """A function that gives all fields of a value as a tuple."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda self: tuple(getattr(self, name) for name in names)


def _write_init(cls: type, fields: tuple[dataclasses.Field[Any], ...]) -> Any:
    """The one function that is worth its compiling: values are made by the ten thousand."""
    known: dict[str, object] = {"_MISSING": _MISSING}
    parameters, body = ["self"], []
    for one in fields:
        name = one.name
        known[f"_put_{name}"] = getattr(cls, name).__set__
        parameter, value = name, name
        if one.default is not _MISSING:
            known[f"_default_{name}"] = one.default
            parameter = f"{name}=_default_{name}"
        elif one.default_factory is not _MISSING:
            known[f"_make_{name}"] = one.default_factory
            parameter = f"{name}=_MISSING"
            value = f"_make_{name}() if {name} is _MISSING else {name}"
        parameters.append(parameter)
        body.append(f"  _put_{name}(self, {value})")
    text = (
        f"def make({', '.join(known)}):\n def __init__({', '.join(parameters)}):\n"
        + ("\n".join(body) or "  pass")
        + "\n return __init__"
    )
    written: dict[str, Any] = {}
    exec(text, sys.modules[cls.__module__].__dict__, written)  # noqa: S102 - as dataclasses does
    init = written["make"](**known)
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    init.__annotations__ = {one.name: one.type for one in fields} | {"return": None}
    return init


def _refuse_to_set(_self: object, name: str, _value: object) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(_self: object, name: str) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


if TYPE_CHECKING:
    # Whoever checks types sees the standard one, and knows all about it.
    from dataclasses import dataclass as dataclass  # noqa: PLC0414 - for others to import
else:
    dataclass = _decorate
