import copy
import dataclasses
import inspect
import pickle
import typing

import msgspec
import pytest

from firedup.core.frozen import dataclass as quick
from firedup.core.model import Evidence


@dataclasses.dataclass(frozen=True, slots=True)
class Standard:
    name: str
    counts: list[int] = dataclasses.field(default_factory=list)
    hidden: int = dataclasses.field(default=3, repr=False)


@quick(frozen=True, slots=True)
class Quick:
    name: str
    counts: list[int] = dataclasses.field(default_factory=list)
    hidden: int = dataclasses.field(default=3, repr=False)


@quick(frozen=True, slots=True)
class Lone:
    """One field."""

    name: str = "x"

    @property
    def loud(self) -> str:
        return self.name.upper()


@quick(frozen=True, slots=True)
class Bare:
    """None."""


@pytest.mark.parametrize("words", [("a",), ("a", [1]), ("b", [1, 2], 9)])
def test_a_value_shows_and_spreads_itself_as_the_standard_one(words: tuple[object, ...]) -> None:
    ours, theirs = Quick(*words), Standard(*words)
    assert repr(ours) == repr(theirs).replace("Standard", "Quick")
    assert dataclasses.asdict(ours) == dataclasses.asdict(theirs)
    assert dataclasses.replace(ours, name="z") == Quick("z", *words[1:])
    assert Quick.__match_args__ == Standard.__match_args__


def test_its_constructor_has_the_same_signature_and_types() -> None:
    ours, theirs = inspect.signature(Quick), inspect.signature(Standard)
    assert list(ours.parameters) == list(theirs.parameters)
    assert typing.get_type_hints(Quick.__init__) == typing.get_type_hints(Standard.__init__)
    with pytest.raises(TypeError):
        Quick()
    with pytest.raises(TypeError):
        Quick("a", nothing=1)


def test_each_value_has_its_own_default() -> None:
    one = Quick("a")
    one.counts.append(1)
    assert Quick("a").counts == []


def test_values_are_equal_by_class_and_fields() -> None:
    assert Quick("a") == Quick("a") != Quick("b")
    assert Quick("a") != Standard("a")
    assert Lone("a") != ("a",)
    assert Bare() == Bare()
    assert len({Lone(), Lone("x"), Lone("y"), Bare(), Bare()}) == 3


def test_a_list_inside_makes_no_hash() -> None:
    with pytest.raises(TypeError):
        hash(Quick("a"))


@pytest.mark.parametrize("name", ["name", "other", "loud"])
def test_nothing_can_be_set_or_deleted(name: str) -> None:
    value = Lone()
    with pytest.raises(dataclasses.FrozenInstanceError, match=name):
        setattr(value, name, 1)
    with pytest.raises(dataclasses.FrozenInstanceError, match=name):
        delattr(value, name)
    assert not hasattr(value, "__dict__")


@pytest.mark.parametrize("value", [Quick("a", [1]), Lone("b"), Bare()])
def test_values_are_copied_pickled_and_decoded(value: object) -> None:
    assert copy.deepcopy(value) == value
    assert pickle.loads(pickle.dumps(value)) == value
    assert msgspec.json.decode(msgspec.json.encode(value), type=type(value)) == value


def test_values_are_matched_by_position() -> None:
    match Quick("a", [5]):
        case Quick(name, [count]):
            assert (name, count) == ("a", 5)
        case _:
            pytest.fail("not matched")


def test_what_is_asked_for_otherwise_is_the_standard_one() -> None:
    @quick()
    class Plain:
        name: str

    @quick(frozen=True, slots=True)
    class Checked:
        name: str

        def __post_init__(self) -> None:
            if not self.name:
                raise ValueError("no name")

    plain = Plain("a")
    plain.name = "b"
    assert plain == Plain("b")
    with pytest.raises(ValueError, match="no name"):
        Checked("")


def test_a_field_that_would_not_be_honoured_is_refused() -> None:
    with pytest.raises(TypeError, match="Odd"):

        @quick(frozen=True, slots=True)
        class Odd:
            name: str = dataclasses.field(default="", compare=False)


def test_values_of_the_core_are_made_this_way() -> None:
    evidence = Evidence("line", "x", 1, 0)
    assert dataclasses.is_dataclass(evidence)
    assert pickle.loads(pickle.dumps(evidence)) == evidence
