"""Shows where a pattern stopped matching a line, so that a user sees which piece to mend."""

from __future__ import annotations

import re2

from firedup.profile.pattern import parse_pattern
from firedup.profile.regex import Expression


def where_it_stops(pattern: str, line: str) -> tuple[str, ...]:
    """Lines of evidence: the line, the pattern, and a caret under the piece that fails."""
    shape = parse_pattern(pattern)
    evidence = [f"line     {line}", f"pattern  {pattern}"]
    if shape.has_choice:
        return tuple(evidence)
    data = line.encode()
    for index in range(len(shape.parts) - 1, -1, -1):
        end = shape.parts[index - 1][1] if index else 0
        if not index:
            evidence.append(f"         {' ' * shape.parts[0][0]}^ the line does not begin to match")
            break
        try:
            found = Expression(pattern[:end]).compile_re2().search(data)
        except re2.error:
            continue
        if found:
            rest = data[found.end() :].decode(errors="replace")
            at = f'at "{rest[0]}"' if rest else "at the end of the line"
            evidence.append(f"         {' ' * shape.parts[index][0]}^ stops here, {at}")
            break
    return tuple(evidence)
