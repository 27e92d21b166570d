"""The tables of an engine's profile, each as its value."""

from __future__ import annotations

from firedup.profile.declared import read_options
from firedup.profile.schema import Command, Compose, FlagTable, Http
from firedup.profile.table import Table


def read_command(t: Table) -> Command:
    """How the engine is started, and which of its flags mean what."""
    command = Command(
        programs=t.texts("programs"),
        subcommands=t.texts("subcommands"),
        modules=t.texts("modules"),
        scripts=t.texts("scripts"),
        model=t.texts("model"),
        model_positional=t.flag("model_positional"),
        draft=t.texts("draft"),
        algorithm=t.texts("algorithm"),
        json_flag=t.texts("json_flag"),
        draft_key=t.text("draft_key"),
        algorithm_key=t.text("algorithm_key"),
        tensor_parallel=t.texts("tensor_parallel"),
        bind=t.texts("bind"),
        port=t.texts("port"),
        default_bind=t.text("default_bind"),
        default_port=t.integer("default_port"),
        served_name=t.texts("served_name"),
        api_key=t.texts("api_key"),
        api_key_file=t.texts("api_key_file"),
        api_key_env=t.texts("api_key_env"),
        api_key_separator=t.text("api_key_separator"),
        tls=t.texts("tls"),
        node_rank=t.texts("node_rank"),
        embedding=t.texts("embedding"),
        split=t.texts("split"),
        log_level=t.texts("log_level"),
        quiet_levels=t.texts("quiet_levels"),
        derived_ports=t.integers("derived_ports"),
        abbreviates=t.flag("abbreviates"),
    )
    t.close()
    return command


def read_flags(t: Table) -> FlagTable:
    """The table of all flags; those that are not written as usage is are problems."""
    table = FlagTable(
        read=t.text("read") or "",
        declared=read_options(t, "declared"),
        former=read_options(t, "former"),
        exact=t.flag("exact"),
        underscores=t.flag("underscores"),
    )
    t.close()
    return table


def read_compose(t: Table) -> Compose:
    """Which flags a launch is put together of."""
    compose = Compose(
        command=t.texts("command"),
        target=t.texts("target"),
        draft=t.texts("draft"),
        tensor_parallel=t.texts("tensor_parallel"),
        bind=t.texts("bind"),
        port=t.texts("port"),
    )
    t.close()
    return compose


def read_http(t: Table) -> Http:
    """The routes that the engine answers."""
    http = Http(
        health=t.text("health"),
        completions=t.texts("completions"),
        metrics=t.text("metrics"),
        info=t.texts("info"),
    )
    t.close()
    return http


def read_vital(t: Table) -> tuple[str, ...]:
    """How the titles of the processes begin without which it serves nothing."""
    vital = t.texts("vital")
    t.close()
    return vital
