"""The object that ends a watched run in JSON: an explanation with the facts of the run."""

from __future__ import annotations

from firedup.core.model import Acceptance, Checks, RunLabel, ServerSpec, Snapshot
from firedup.view.nodes import record_nodes
from firedup.view.quantity import render_rfc3339
from firedup.view.record import record_explanation, round_s, word_of
from firedup.view.redact import redact_argv


def record_result(snapshot: Snapshot) -> dict[str, object]:
    """The object that ends `run`, `watch` and `attach --json`: an explanation and more."""
    run = snapshot.run if snapshot.run and (snapshot.run.id or snapshot.run.name) else None
    has_exit = snapshot.exit_code is not None or snapshot.exit_signal is not None
    return (
        record_explanation(snapshot.explanation)
        | {
            "time": render_rfc3339(snapshot.wall_ns),
            "clock": "host",
            "run": record_label(run) if run else None,
            "spec": record_spec(snapshot.spec),
            "state": str(snapshot.state),
            "elapsed_s": round_s(snapshot.elapsed_s),
            "ready_after_s": round_s(snapshot.ready_after_s),
            "ended_after_s": round_s(snapshot.ended_after_s),
            "checks": record_checks(snapshot.checks),
            "speculation": str(snapshot.speculation),
            "acceptance": record_acceptance(snapshot.acceptance) if snapshot.acceptance else None,
            "first_text": snapshot.first_text,
            "exit": {"code": snapshot.exit_code, "signal": snapshot.exit_signal}
            if has_exit
            else None,
            "log": {"path": snapshot.log_path, "size_bytes": snapshot.log_size},
        }
        | record_nodes(snapshot)
    )


def record_label(label: RunLabel) -> dict[str, object]:
    """How a run is called."""
    return {"id": label.id, "name": label.name, "host": label.host}


def record_spec(spec: ServerSpec) -> dict[str, object]:
    """What the command says; the values of its secret options do not appear."""
    return {
        "argv": list(redact_argv(spec.argv)),
        "engine": spec.engine,
        "bind": spec.bind,
        "port": spec.port,
        "model": spec.model,
        "served_name": spec.served_name,
        "draft": spec.draft,
        "algorithm": spec.algorithm,
        "tensor_parallel": spec.tensor_parallel,
        "purpose": spec.purpose,
        "health_path": spec.health_path,
        "has_api_key": spec.has_api_key,
        "has_tls": spec.has_tls,
    }


def record_checks(checks: Checks) -> dict[str, object]:
    """The four checks of readiness."""
    return {
        "log": checks.log,
        "health": checks.health,
        "owner": word_of(checks.owner),
        "token": checks.token,
        "why_not": checks.why_not,
    }


def record_acceptance(acceptance: Acceptance) -> dict[str, object]:
    """Acceptance from the server's own counters."""
    return {
        "length": acceptance.length,
        "rate": acceptance.rate,
        "accepted": acceptance.accepted,
        "proposed": acceptance.proposed,
        "steps": acceptance.steps,
        "source": acceptance.source,
        "why_not": acceptance.why_not,
    }
