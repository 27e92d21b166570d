"""Reads a launch command: which engine, on which port, with which models. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile

from firedup.core.model import ServerSpec
from firedup.profile.container import ContainerCommand, parse_container
from firedup.profile.flags import Flags, parse_flags, takes_script
from firedup.profile.schema import GENERIC, Catalogue, Command, EngineProfile

_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_PYTHON = re.compile(r"python(?:\d(?:\.\d+)?)?t?")
_PYTHON_VALUES = ("-X", "-W", "--check-hash-based-pycs")
_SPLITS = ("prefill", "decode")
_FLAG_FIELDS = (
    "model", "draft", "algorithm", "tensor_parallel", "bind", "port", "served_name", "api_key",
    "api_key_file", "tls", "node_rank", "split", "log_level", "json_flag",
)  # fmt: skip


def read_command(argv: Sequence[str], env: Mapping[str, str], catalogue: Catalogue) -> ServerSpec:
    """What `argv` with the additional environment `env` says about the server it starts.

    Leading `K=V` words and wrappers (`env`, `nohup`, `numactl …`, `uv run`, `bash -c '…'`) are
    looked through. Of `docker run` and its like the command inside is read, with the port as
    published on the host: None when it cannot be reached. `engine` is None for a program that no
    profile knows; then only common flags are read. Secrets stay in `argv` alone.
    """
    before = takewhile(_ASSIGNMENT.match, argv)
    given = {**env, **dict(word.split("=", 1) for word in before)}
    wanted = catalogue.mentioned_variables
    variables = tuple((name, value) for name, value in given.items() if name in wanted)
    return replace(_read_words(argv, given, catalogue), variables=variables)


def _read_words(argv: Sequence[str], env: Mapping[str, str], catalogue: Catalogue) -> ServerSpec:
    if (container := parse_container(argv)) is not None:
        return replace(_read_container(argv, container, catalogue), argv=tuple(argv))
    if (found := find_engine(argv, catalogue)) is not None:
        profile, rest = found
        return replace(_read(profile, rest, env), argv=tuple(argv), engine=profile.engine)
    generic = catalogue.profile(GENERIC)
    if generic is None:
        return ServerSpec(argv=tuple(argv))
    return replace(_read(generic, tuple(argv[1:]), env), argv=tuple(argv), engine=None)


def find_engine(
    argv: Sequence[str], catalogue: Catalogue
) -> tuple[EngineProfile, tuple[str, ...]] | None:
    """The engine that `argv` starts, through any wrappers, and the words that it is given."""
    for start in _starts(tuple(argv)):
        for profile in catalogue.profiles:
            if (rest := _arguments(start, profile.command)) is not None:
                return profile, rest
    return None


def find_inside(
    argv: Sequence[str], catalogue: Catalogue
) -> tuple[tuple[str, ...], dict[str, str]]:
    """The command that a container is started with, and its settings; else `argv` itself."""
    container = parse_container(argv)
    if container is None:
        return tuple(argv), {}
    if container.verb != "run":
        return (), {}
    inner = complete_command(container.command, container.image, catalogue)
    return inner, dict(container.env)


def read_flags(profile: EngineProfile, words: Sequence[str]) -> Flags:
    """The flags that the engine is given, as its own parser reads them."""
    command = profile.command
    return parse_flags(
        words,
        [flag for name in _FLAG_FIELDS for flag in getattr(command, name)],
        [flag.partition("=")[0] for flag in command.embedding if "=" not in flag],
        abbreviates=command.abbreviates,
        json_flags=command.json_flag,
        table=profile.flags,
    )


def complete_command(argv: tuple[str, ...], image: str, catalogue: Catalogue) -> tuple[str, ...]:
    """The command inside a container of `image`: `argv`, where that names an engine.

    An image that is named after an engine starts it by itself, and `argv` are its flags.
    """
    if find_engine(argv, catalogue) is not None:
        return argv
    plain = re.sub(r"[._]", "-", image.lower())
    for profile in catalogue.profiles:
        command = profile.command
        if profile.engine in plain and command.programs:
            return (command.programs[0], *command.subcommands[:1], *argv)
    return argv


def _read_container(
    argv: Sequence[str], container: ContainerCommand, catalogue: Catalogue
) -> ServerSpec:
    inner, settings = find_inside(argv, catalogue)
    if not inner:
        return ServerSpec()
    spec = read_command(inner, settings, catalogue)
    if container.is_on_host:
        return spec
    published = next((port for port in container.ports if port.inside == spec.port), None)
    return replace(
        spec,
        bind=published.address if published else None,
        port=published.outside if published else None,
        derived_ports=(),
    )


def _starts(argv: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Every place where the engine's own command may begin: after any number of wrappers."""
    for index, word in enumerate(argv):
        yield argv[index:]
        if index and takes_script(argv[index - 1], word) and index + 1 < len(argv):
            for words in _shell_commands(argv[index + 1]):
                for inner in range(len(words)):
                    yield words[inner:]


def _shell_commands(script: str) -> list[tuple[str, ...]]:
    """The simple commands of a one-line script, words unquoted; nothing is expanded or run."""
    flat = script.replace("\\\n", " ").replace("\n", ";")
    lexer = shlex.shlex(flat, posix=True, punctuation_chars=";&|")
    lexer.whitespace_split = True
    commands: list[list[str]] = [[]]
    try:
        for word in lexer:
            if word.strip(";&|"):
                commands[-1].append(word)
            else:
                commands.append([])
    except ValueError:  # an open quote: what was read so far must do
        pass
    return [tuple(words) for words in commands if words]


def _arguments(words: tuple[str, ...], command: Command) -> tuple[str, ...] | None:
    """The engine's arguments when `words` begin with its program, else None."""
    base, rest = _base(words[0]), words[1:]
    if _PYTHON.fullmatch(base):
        index = 0
        while index < len(rest) and rest[index].startswith("-"):
            if rest[index] == "-m":
                is_known = index + 1 < len(rest) and rest[index + 1] in command.modules
                return rest[index + 2 :] if is_known else None
            index += 2 if rest[index] in _PYTHON_VALUES else 1
        if index >= len(rest):
            return None
        words, rest = rest[index:], rest[index + 1 :]
        base = _base(words[0])
    if any(words[0] == s or words[0].endswith(f"/{s}") for s in command.scripts):
        return rest
    if base not in command.programs:
        return None
    if not command.subcommands:
        return rest
    return rest[1:] if rest and rest[0] in command.subcommands else None


def _read(profile: EngineProfile, words: tuple[str, ...], env: Mapping[str, str]) -> ServerSpec:
    command = profile.command
    flags = read_flags(profile, words)
    draft, algorithm = _speculation(flags, command)
    port = _integer(flags.last(command.port), command.default_port)
    model = flags.last(command.model)
    if command.model_positional and model is None:
        model = flags.bare
    level = flags.last(command.log_level)
    return ServerSpec(
        bind=flags.last(command.bind) or command.default_bind,
        port=port,
        model=model,
        served_name=flags.last(command.served_name),
        draft=draft,
        algorithm=algorithm,
        tensor_parallel=_integer(flags.last(command.tensor_parallel), None),
        purpose=_purpose(flags, command),
        health_path=profile.http.health,
        has_api_key=flags.last((*command.api_key, *command.api_key_file)) is not None
        or any(env.get(name) for name in command.api_key_env),
        has_tls=flags.last(command.tls) is not None,
        hides_ready_line=level is not None and level.lower() in command.quiet_levels,
        derived_ports=tuple(port + o for o in command.derived_ports) if port is not None else (),
        vital=profile.vital,
    )


def _speculation(flags: Flags, command: Command) -> tuple[str | None, str | None]:
    """Drafter and algorithm, from flags of their own or from the keys of a JSON flag."""
    keys = flags.keys(command.json_flag)
    draft = flags.last(command.draft)
    algorithm = flags.last(command.algorithm)
    if draft is None and isinstance(found := keys.get(command.draft_key or ""), str):
        draft = found
    if algorithm is None and isinstance(found := keys.get(command.algorithm_key or ""), str):
        algorithm = found
    return draft, algorithm


def _purpose(flags: Flags, command: Command) -> str:
    if (_integer(flags.last(command.node_rank), 0) or 0) > 0:
        return "follower"
    if (split := flags.last(command.split)) in _SPLITS:
        return split
    return "embedding" if flags.has(command.embedding) else "generate"


def _integer(text: str | None, default: int | None) -> int | None:
    """A number as typed; `default` when it is absent or is none (`$PORT`)."""
    return int(text) if text is not None and text.isascii() and text.isdigit() else default


def _base(word: str) -> str:
    return word.rpartition("/")[2]
