import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from firedup.view.redact import MARK, clean, printable, printable_block, redact, redact_argv

SECRET = "rosebud1941"
LONG = "Zq8" * 12


@pytest.mark.parametrize(
    "text",
    [
        f"--api-key {SECRET} --port 30000",
        f"--api-key={SECRET} --port 30000",
        f"--api-key '{SECRET} two words'",
        f"['--api-key', '{SECRET}', '--port', '8000']",
        f'["--admin-api-key", "{SECRET}"]',
        f"llama-server --hf-token {SECRET}",
        f"--ssl-keyfile-password {SECRET}",
        f"serve m -k {SECRET}",
        f"Authorization: Bearer {SECRET}",
        f"{{'authorization': 'Bearer {SECRET}'}}",
        f"-H 'Authorization: Basic {SECRET}'",
        f"curl with Bearer {SECRET}",
        f"OPENAI_API_KEY={SECRET} python3 -m x",
        f"HF_TOKEN={SECRET}",
        f"HF_TOKEN='{SECRET}'",
        f"MY_SERVICE_TOKEN={SECRET}",
        f"AWS_SECRET_ACCESS_KEY={SECRET}/x+y=",
        f"server_args=ServerArgs(port=1, api_key='{SECRET}', tp_size=8)",
        f"server_args={{'port': 1, 'api_key': '{SECRET}', 'tp_size': 8}}",
        f"non-default args: {{'api_key': ['{SECRET}', 'b'], 'port': 8000}}",
        f"Namespace(api_key=['{SECRET}'])",
        f'{{"api_key": "{SECRET}"}}',
        f"password={SECRET}",
        f"password: {SECRET}",
        f"https://user:{SECRET}@example.org/x",
        f"https://{SECRET}@example.org/x",
        f"GET /v1?api_key={SECRET}&n=1",
        f"sk-{LONG}",
        f"key sk-proj-{LONG}, n=1",
        f"hf_{LONG}",
        f"ghp_{LONG}",
        "AKIAIOSFODNN7EXAMPLE",
        f"eyJ{LONG}.{LONG}.{LONG}",
    ],
)
def test_a_secret_does_not_get_out(text):
    said = redact(text)

    assert MARK in said
    assert not any(word in said for word in (SECRET, LONG, "IOSFODNN7"))


@pytest.mark.parametrize(
    "text",
    [
        "Decode batch, #running-req: 1, #token: 48, token usage: 0.01, accept len: 3.23",
        "max_total_num_tokens=8192, chunked_prefill_size=4096, max_prefill_tokens=16384",
        "KV Cache is allocated. dtype: torch.bfloat16, #tokens: 8192, K size: 0.00 GB",
        "server_args={'api_key': None, 'admin_api_key': None, 'tokenizer_path': 'models/toy'}",
        "ServerArgs(api_key=None, ssl_keyfile_password=None, port=30000)",
        "usage: launch_server.py [--api-key API_KEY] [--tp-size TP_SIZE]",
        "hf_config=LlamaConfig, hf_overrides={}, hf_text_config",
        "eos_token_id=2, bos_token='<s>', pad_token: None",
        "MAX_TOKEN=4096 SGLANG_TOKEN=1",
        'INFO:     127.0.0.1:40220 - "GET /health HTTP/1.1" 200 OK',
        "Uvicorn running on http://127.0.0.1:30000 (Press CTRL+C to quit)",
        "top-k 50, disk-usage 3 task-scheduling-policy",
        "Load weight end. type=LlamaForCausalLM, avail mem=79.1 GB, mem usage=68.4 GB.",
        "401 Unauthorized: Bearer token required, Bearer authentication",
        "tcp://127.0.0.1:29500 user@host",
        "secretary passwords tokenizer",
        "Loading safetensors checkpoint shards:  36% Completed | 23/64 [00:41<01:13,  1.79s/it]",
    ],
)
def test_ordinary_text_stays_as_it_is(text):
    assert redact(text) == text


def test_what_stands_around_a_secret_stays():
    said = redact(f"python3 -m x --api-key {SECRET} --port 30000 api_key='{SECRET}', tp_size=8")

    assert said == f"python3 -m x --api-key {MARK} --port 30000 api_key={MARK}, tp_size=8"


def test_a_command_line_is_redacted_word_by_word():
    argv = ("x", "--api-key", f"{SECRET} and more", "-k", "abc", f"--hf-token={SECRET}", "--port")

    assert redact_argv(argv) == (
        *("x", "--api-key", MARK, "-k", MARK, f"--hf-token={MARK}", "--port"),
    )


PIECES = st.sampled_from(
    [
        "--api-key",
        "=",
        " ",
        "-k",
        "HF_TOKEN",
        "api_key",
        "'",
        '"',
        ":",
        "[",
        "]",
        ",",
        "sk-",
        "hf_",
        MARK,
        SECRET,
        "Bearer ",
        "://",
        "@",
        "password",
        "None",
        "12345678",
        "Authorization: ",
        "\n",
    ]
)


@given(st.one_of(st.text(), st.lists(PIECES, max_size=12).map("".join)))
@example(f"api_key=None sk-{LONG}")
@example("HF_TOKEN=123://x@")
def test_redacting_twice_changes_nothing(text):
    once = redact(text)

    assert redact(once) == once
    assert clean(clean(text)) == clean(text)


def test_control_sequences_are_removed():
    text = "\x1b[31mred\x1b[0m \x1b]0;title\x07after \x9b2Jx\x1b(B \x1bPq\x1b\\y\rover\x00\u202e"

    assert printable(text) == "red after x yover"


def test_line_breaks_stay_in_blocks_alone():
    assert printable("a\nb\tc") == "a b    c"
    assert printable_block("a\nb\tc\x1b[K") == "a\nb\tc"


@given(st.text())
def test_nothing_printable_moves_the_cursor(text):
    said = printable(text)

    assert not any(ord(letter) < 32 or 127 <= ord(letter) < 160 for letter in said)
    assert printable(said) == said
    json.dumps(said).encode("utf-8")
    said.encode("utf-8")
