"""What `firedup flags` does: reads the pair, and composes a command for each engine."""

from __future__ import annotations

from dataclasses import replace

from firedup.cli.drive import run_async
from firedup.cli.knowledge import read_catalogue
from firedup.core.fitted import Fitted
from firedup.drafter.flags import Wish, fit
from firedup.drafter.known import demand_known, engines
from firedup.drafter.pair import Question, open_case
from firedup.profile.compose import compose_command


def fit_asked(
    target: str,
    draft: str,
    *,
    engine: str | None,
    version: str | None,
    tp: int | None,
    gpu_gb: float | None,
    host: str | None,
    is_forced: bool = False,
) -> tuple[Fitted, ...]:
    """The flags for `engine`, or for each engine that serves files of this form.

    Where the pair does not fit there are none, unless it is forced. UsageError for an engine of
    which no drafters are known, or a path that leads nowhere.
    """
    demand_known(engine, version)
    known = [one.engine for one in engines()]
    wanted = [engine] if engine else known

    async def read() -> tuple[tuple[str, str], list[Fitted]]:
        async with open_case(target, draft, Question(engine, version), host=host) as (case, _):
            is_gguf = bool(case.draft.gguf)
            names = [n for n in wanted if engine or (n == "llama-cpp") == is_gguf]
            wish = Wish(case.draft.path, tp, gpu_gb)
            paths = case.target.path, case.draft.path
            return paths, [fit(case, name, wish) for name in names]

    paths, found = run_async(read())
    catalogue = read_catalogue()
    return tuple(
        replace(
            one,
            command=compose_command(
                catalogue,
                one.engine,
                target=paths[0],
                draft=paths[1],
                speculation=one.words,
                tensor_parallel=tp if one.engine != "llama-cpp" else None,
            ),
        )
        if one.fits or is_forced
        else replace(one, choices=(), doubts=())
        for one in found
    )
