"""Reads a pattern in the common subset of RE2 and Hyperscan: its parts, fixed text and anchors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

_REFUSED_GROUPS = {
    "(?=": "look-ahead",
    "(?!": "look-ahead",
    "(?<=": "look-behind",
    "(?<!": "look-behind",
    "(?>": "an atomic group",
    "(?#": "a comment group",
    "(?P=": "a back-reference",
    "(?P>": "a recursive group",
    "(?(": "a conditional group",
    "(?|": "a branch reset group",
}
_CLASS_ESCAPES = "dDwWsS"
_WIDTHLESS_ESCAPES = "bB"
_CONTROLS = {"t": "\t", "f": "\f", "r": "\r", "n": "\n", "v": "\v"}


class PatternError(ValueError):
    """The pattern uses something outside the common subset; `at` is the position in it."""

    def __init__(self, message: str, at: int) -> None:
        super().__init__(message)
        self.at = at


@dataclass(frozen=True, slots=True)
class Shape:
    """What a pattern looks like.

    `parts`: (start, end) of each top-level piece with its quantifier. `anchors`: positions of `^`
    and `$`. `fixed`: texts of which every match holds at least one, None when there is no such
    text; in lower case when `is_caseless`. `has_choice`: alternatives at the top level.
    """

    parts: tuple[tuple[int, int], ...]
    anchors: tuple[int, ...]
    fixed: tuple[str, ...] | None
    is_caseless: bool
    has_choice: bool

    @property
    def fixed_length(self) -> int:
        """The length of the shortest fixed text, 0 when there is none."""
        return min(map(len, self.fixed)) if self.fixed else 0


@lru_cache(maxsize=2048)
def parse_pattern(pattern: str) -> Shape:
    """Reads `pattern`; raises PatternError for what the subset does not hold."""
    reader = _Reader(pattern)
    start = 4 if pattern.startswith("(?i)") else 0
    reader.at = start
    branches, parts = reader.choice(depth=0)
    if reader.at < len(pattern):
        raise PatternError('")" without "("', reader.at)
    if (start or reader.is_caseless) and not pattern.isascii():
        at = next(i for i, char in enumerate(pattern) if not char.isascii())
        raise PatternError("only ASCII can be matched in any case", at)
    fixed = _weakest(branches)
    if fixed and start:
        fixed = tuple(text.lower() for text in fixed)
    return Shape(
        tuple(parts),
        tuple(reader.anchors),
        fixed,
        is_caseless=start > 0 or reader.is_caseless,
        has_choice=len(branches) > 1,
    )


@lru_cache(maxsize=2048)
def exact_texts(pattern: str) -> tuple[str, ...]:
    """Texts as they are spelt of which every match of a sound pattern holds one; perhaps none."""
    if pattern.startswith("(?i)"):
        return ()
    branches, _ = _Reader(pattern, heeds_case=True).choice(depth=0)
    return _weakest(branches) or ()


def _weakest(branches: list[tuple[str, ...] | None]) -> tuple[str, ...] | None:
    """The fixed texts of a choice: those of all branches, None if one branch has none."""
    texts: list[str] = []
    for branch in branches:
        if branch is None:
            return None
        texts += branch
    return tuple(texts)


def _strength(texts: tuple[str, ...]) -> int:
    return min(map(len, texts))


class _Reader:
    """A recursive reader; `choice` and `sequence` return fixed texts."""

    def __init__(self, pattern: str, *, heeds_case: bool = False) -> None:
        self._pattern = pattern
        self._heeds_case = heeds_case  # what may be spelt in any case is no fixed text then
        self.at = 0
        self.anchors: list[int] = []
        self.is_caseless = False

    def choice(self, depth: int) -> tuple[list[tuple[str, ...] | None], list[tuple[int, int]]]:
        if depth > 20:
            raise PatternError("groups nest too deeply", self.at)
        branches = []
        parts: list[tuple[int, int]] = []
        while True:
            texts, pieces = self._sequence(depth)
            branches.append(texts)
            parts += pieces
            if self._peek() != "|":
                return branches, parts
            self.at += 1

    def _sequence(self, depth: int) -> tuple[tuple[str, ...] | None, list[tuple[int, int]]]:
        best: tuple[str, ...] | None = None
        run = ""
        parts: list[tuple[int, int]] = []

        def offer(texts: tuple[str, ...] | None) -> None:
            nonlocal best
            if texts and all(texts) and (best is None or _strength(texts) > _strength(best)):
                best = texts

        while self._peek() not in ("", "|", ")"):
            start, anchors = self.at, len(self.anchors)
            literal, inner = self._atom(depth)
            least, most = self._quantifier()
            self._check_anchors(
                self.anchors[anchors:], is_first=not parts, is_once=(least, most) == (1, 1)
            )
            parts.append((start, self.at))
            if literal == "" and (least, most) != (1, 1):
                raise PatternError("nothing to repeat", start)
            if literal is not None and least >= 1:
                run += literal
            if literal is None or (least, most) != (1, 1):
                offer((run,) if run else None)
                run = ""
            if least >= 1:
                offer(inner)
        offer((run,) if run else None)
        return best, parts

    def _check_anchors(self, anchors: list[int], *, is_first: bool, is_once: bool) -> None:
        """Hyperscan knows anchors at the ends of a pattern only; called at every level."""
        is_last = self._peek() in ("", "|", ")")
        for at in anchors:
            sign = self._pattern[at]
            if not is_once or not (is_first if sign == "^" else is_last):
                place = "beginning" if sign == "^" else "end"
                raise PatternError(f"{sign} may stand at the {place} of the pattern only", at)

    def _atom(self, depth: int) -> tuple[str | None, tuple[str, ...] | None]:
        """The literal that one piece stands for (None = none), and a group's fixed texts."""
        match self._peek():
            case "(":
                return None, self._group(depth)
            case "[":
                self._character_class()
                return None, None
            case "\\":
                return self._escape(), None
            case "^" | "$":
                self.anchors.append(self.at)
                self.at += 1
                return "", None
            case "*" | "+" | "?":
                raise PatternError("nothing to repeat", self.at)
            case char:
                self.at += 1
                return (None if char == "." else char), None

    def _peek(self) -> str:
        return self._pattern[self.at : self.at + 1]

    def _group(self, depth: int) -> tuple[str, ...] | None:
        start = self.at
        rest = self._pattern[start:]
        is_caseless = False
        for opening, what in _REFUSED_GROUPS.items():
            if rest.startswith(opening):
                raise PatternError(f"{what} is not in the subset", start)
        if rest.startswith("(?P<"):
            closing = rest.find(">")
            name = rest[4:closing]
            if closing < 0 or not name.isidentifier() or not name.isascii():
                raise PatternError("a group needs a name such as (?P<total>…)", start)
            self.at += closing + 1
        elif rest.startswith("(?:"):
            self.at += 3
        elif rest.startswith("(?i:"):
            self.at += 4
            self.is_caseless = is_caseless = True
        elif rest.startswith("(?"):
            raise PatternError(
                "only (?P<name>…), (?:…), (?i:…) and a leading (?i) may be used", start
            )
        else:
            raise PatternError("a group without a name; write (?:…) or (?P<name>…)", start)
        branches, _ = self.choice(depth + 1)
        if self._peek() != ")":
            raise PatternError('"(" without ")"', start)
        self.at += 1
        fixed = _weakest(branches)
        if fixed and is_caseless:
            if self._heeds_case:
                return None
            return tuple(text.lower() for text in fixed)
        return fixed

    def _character_class(self) -> None:
        start = self.at
        self.at += 1
        if self._peek() == "^":
            self.at += 1
        is_first = True
        while (char := self._peek()) != "]" or is_first:
            if not char:
                raise PatternError('"[" without "]"', start)
            if not char.isascii():
                raise PatternError("only ASCII may stand in […]", self.at)
            if char == "\\":
                self._escape(in_class=True)
            elif self._pattern.startswith("[:", self.at):
                closing = self._pattern.find(":]", self.at)
                if closing < 0:
                    raise PatternError('"[:" without ":]"', self.at)
                self.at = closing + 2
            else:
                self.at += 1
            is_first = False
        self.at += 1

    def _escape(self, *, in_class: bool = False) -> str | None:
        r"""The literal that an escape stands for; "" for \b; None for a class such as \\d."""
        start = self.at
        char = self._pattern[start + 1 : start + 2]
        self.at += 2
        if not char:
            raise PatternError("a lone backslash at the end", start)
        if char in _CLASS_ESCAPES:
            return None
        if char in _WIDTHLESS_ESCAPES and not in_class:
            return ""
        if char in _CONTROLS:
            return _CONTROLS[char]
        if char == "x":
            digits = self._pattern[self.at : self.at + 2]
            try:
                code = int(digits, 16)
            except ValueError:
                raise PatternError(r"\x needs two hexadecimal digits", start) from None
            self.at += 2
            if code > 0x7F:
                raise PatternError(r"\x above 7f would match half a character", start)
            return chr(code)
        if char.isdigit():
            raise PatternError("a back-reference is not in the subset", start)
        if char.isalpha():
            raise PatternError(f"\\{char} is not in the subset", start)
        return char

    def _quantifier(self) -> tuple[int, int | None]:
        start = self.at
        char = self._peek()
        bounds: tuple[int, int | None] = (1, 1)
        if char and char in "*+?":
            bounds = {"*": (0, None), "+": (1, None), "?": (0, 1)}[char]
            self.at += 1
        elif char == "{":
            closing = self._pattern.find("}", self.at)
            low, comma, high = self._pattern[self.at + 1 : max(closing, 0)].partition(",")
            if closing < 0 or not low.isdigit() or (high and not high.isdigit()):
                raise PatternError(r'"{" is not a count; write \{', start)
            most = int(high) if high else (None if comma else int(low))
            bounds = (int(low), most)
            if max(int(low), most or 0) > 250:
                raise PatternError("counts above 250 are slow", start)
            self.at = closing + 1
        else:
            return bounds
        if self._peek() == "?":
            self.at += 1
        if (more := self._peek()) and more in "*+?":
            raise PatternError("a quantifier upon a quantifier", self.at)
        return bounds
