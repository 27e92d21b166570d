"""Every kind of secret on its way through every view."""

import json
import shlex
from dataclasses import replace
from datetime import UTC
from pathlib import Path

import pytest

from firedup.core.model import Cause, Finding, Line, Severity
from firedup.view.classic import Classic
from firedup.view.jsonl import JsonLines
from firedup.view.panel import render_panel
from firedup.view.paper import Paper
from firedup.view.plain import Plain
from firedup.view.record import render_json
from firedup.view.redact import clean, printable_block, redact, redact_argv
from firedup.view.result import record_result
from firedup.view.statement import render_statement
from tests.view import story

RUNS = Path(__file__).parents[1] / "data" / "engine-runs"
K = "Zq8rosebud41"
LONG = K * 4
SECRETS = {
    "flag": f"serve --api-key {K} --port 1",
    "flag with an underscore": f"serve --api_key {K} --port 1",
    "several values": f"serve --api-key {K} {K}2 --port 1",
    "several values of letters": "serve --api-key first rosebud rosebuds --port 1",
    "several values in a list": f"['serve', '--api-key', 'a', '{K}', '--port', '1']",
    "token": f"serve --token {K}",
    "auth token": f"serve --auth_token {K}",
    "hf token": f"serve --hf-token={K}",
    "value with a dash": f"serve --api-key -{K} --port 1",
    "quoted value in quotes": "serve --api-key 'it'\"'\"'s-" + K + "'",
    "postgres": f"PGPASSWORD={K} psql",
    "aws session": f"aws_session_token={K}",
    "pass": f"MY_PASS={K}",
    "storage key": f"AZURE_STORAGE_KEY={K}==",
    "query token": f"GET /v1/models?token={K} HTTP/1.1",
    "query signature": f"https://x.blob/y?se=2030&sig={K}%3D&sp=r",
    "query of s3": f"https://x/y?X-Amz-Expires=60&X-Amz-Signature={K}",
    "token in quotes": f"connect(token='{K}', port=1)",
    "token in JSON": f'{{"token": "{K}"}}',
    "cookie": f"Cookie: session={K}; theme=dark",
    "set-cookie": f"set-cookie: id={K}; HttpOnly",
    "headers as tuples": f"[(b'authorization', b'Bearer {K}'), (b'cookie', b'a={K}')]",
    "bytes": f"authorization: b'Bearer {K}'",
    "basic in bytes": f"{{b'authorization': b'Basic {K}'}}",
    "escaped quote": f'api_key="abc\\"{K}"',
    "escaped quote in a list": f"api_key=['abc\\'{K}', 'x']",
    "JSON in a string": f'"{{\\"api_key\\": \\"{K}\\", \\"n\\": 1}}"',
    "quote that never ends": f"api_key='{K}",
    "list that never ends": f"api_key=['a', '{K}",
    "google": f"key AIza{LONG}",
    "groq": f"key gsk_{LONG}",
    "gitlab": f"key glpat-{LONG}",
    "replicate": f"key r8_{LONG}",
    "npm": f"key npm_{LONG}",
    "github": f"key ghp_{LONG} gho_{LONG} github_pat_{LONG}",
    "slack": f"key xoxb-{LONG}",
    "JWT": f"key eyJ{LONG}.eyJ{LONG}.{LONG}",
    "hugging face": f"key hf_{LONG}",
    "openai": f"key sk-proj-{LONG}",
    "user in an address": f"postgres://u:{K}@h/db",
}


def words_of(text):
    """A command line as the words that the shell makes of it; other text as one word."""
    return tuple(shlex.split(text)) if text.startswith("serve ") else ("echo", text)


def moment(text):
    cause = Cause("out-of-memory", "r", text, 1, 0, None, None, meaning=text, remedy=text)
    finding = Finding("a-finding", Severity.WARNING, text, remedy=text)
    line = Line(0, len(text), 1, text, text)
    crashed = story.crashed()
    return replace(
        crashed,
        explanation=replace(
            crashed.explanation, cause=cause, findings=(finding,), notes=(text,), version=None
        ),
        spec=replace(story.SPEC, argv=words_of(text)),
        last_line=line,
        highlight=line,
        tail=(text,),
        waiting_for=text,
        first_text=text,
        log_path=None,
        quiet_s=90.0,
    )


def through_every_view(text):
    """What each view says of `text`."""
    seen = moment(text)
    waits = replace(story.loading(), last_line=seen.last_line, waiting_for=text, quiet_s=90.0)
    paper = Paper(columns=400)
    plain, lines, classic = Plain(paper, zone=UTC, every_s=0), JsonLines(), Classic(every_s=0)
    return {
        "clean": clean(text),
        "block": redact(printable_block(text)),
        "record": render_json(record_result(seen)),
        "json": "".join((*lines.feed(waits), *lines.feed(seen), *lines.close(seen))),
        "plain": "\n".join((*plain.feed(waits), *plain.feed(seen), *plain.close(seen))),
        "classic": "\n".join((*classic.feed(waits), *classic.feed(seen))),
        "panel": "\n".join((*render_panel(waits, paper), *render_panel(seen, paper))),
        "statement": render_statement(seen, paper),
        "argv": " ".join(redact_argv(words_of(text))),
    }


@pytest.mark.parametrize("text", SECRETS.values(), ids=SECRETS)
def test_no_view_shows_a_secret(text):
    assert "rosebud" in text

    assert {view for view, said in through_every_view(text).items() if "rosebud" in said} == set()


ORDINARY = (
    "Decode batch. #running-req: 1, #token: 123, token usage: 0.31, accept len: 3.23",
    "max_total_num_tokens=8192, chunked_prefill_size=4096, tokenizer_path='/models/toy'",
    "tokenizer='/models/toy', skip_tokenizer_init=False, tokenizer_mode='auto'",
    "eos_token='</s>', bos_token='<s>', pad_token='<|endoftext|>', unk_token: '[UNK]'",
    "stop_token_ids=[1, 2], token_to_kv_pool: 3, num_tokens: 5, token: 'a'",
    "forward_pass=decode, first pass: 3, bypass=True, passed=2",
    "PWD=/home/u LOGNAME=u MAX_PASS=3 cache_key=abc sort_key: size",
    "GET /v1/models?limit=5&max_token=3 HTTP/1.1",
    "--num-speculative-tokens 3 --eos-token </s> --token-map x --tokenizer-path /m",
    "usage: serve [--ssl-keyfile-password SSL_KEYFILE_PASSWORD] [--admin-api-key ADMIN_API_KEY]",
    "vllm serve --api-key API_KEY [API_KEY ...]",
    "no API key is set and CORS allows all origins; pass --api-key or set VLLM_API_KEY",
    "cookies are off, a bearer of news, npm_config_registry=x, sk-learn",
)


@pytest.mark.parametrize("text", ORDINARY)
def test_what_only_looks_like_a_secret_stays(text):
    assert clean(text) == text


@pytest.mark.parametrize("path", sorted(RUNS.glob("*/*.log")), ids=lambda path: path.stem)
def test_lines_of_real_runs_stay_as_they_are(path):
    """None of the recorded runs holds a secret."""
    text = path.read_text(encoding="utf-8", errors="replace")
    changed = [line for line in text.splitlines() if redact(line) != line]

    assert changed == []


def test_all_keys_of_a_flag_are_hidden_up_to_the_next():
    words = (
        "serve",
        "--api-key",
        "-leading",
        "two",
        "three",
        "--port",
        "1",
        "--hf-token",
        "-tp",
        "8",
    )

    assert redact_argv(words) == (
        *("serve", "--api-key", "[redacted]", "[redacted]", "[redacted]", "--port", "1"),
        *("--hf-token", "-tp", "8"),
    )
    assert json.loads(render_json({"argv": list(redact_argv(words))}))["argv"][4] == "[redacted]"
