"""What a file of nodes says about each launch."""

import tomllib

import pytest

from firedup.core.error import UsageError
from firedup.session.nodes import fill_order
from firedup.session.nodes_file import NodesFile, parse_nodes, read_nodes_file
from firedup.session.order import Order


def parse(text: str, common: Order | None = None) -> NodesFile:
    return parse_nodes(tomllib.loads(text), "nodes.toml", common or Order(()))


def test_what_stands_at_the_top_is_for_all_nodes() -> None:
    found = parse(
        """
        name = "k2"
        command = "sglang serve --model-path '/models/a b' --tp 16"
        env = {NCCL_DEBUG = "INFO", OMP_NUM_THREADS = 8}
        setup = ". sgl/bin/activate"
        [[node]]
        host = "box1"
        [[node]]
        host = "box2"
        head = true
        address = "10.0.0.2"
        env = {NCCL_DEBUG = "WARN"}
        flags = ["--headless"]
        log = "/logs/box2.log"
        """
    )

    first, second = found.nodes
    assert (found.name, found.head) == ("k2", "box2")
    assert first.order.argv == ("sglang", "serve", "--model-path", "/models/a b", "--tp", "16")
    assert dict(first.order.env) == {"NCCL_DEBUG": "INFO", "OMP_NUM_THREADS": "8"}
    assert (first.order.name, first.order.setup, first.order.log) == (
        *("k2", ". sgl/bin/activate"),
        None,
    )
    assert second.order.argv == (*first.order.argv, "--headless")
    assert dict(second.order.env)["NCCL_DEBUG"] == "WARN"
    assert (second.order.log, second.address) == ("/logs/box2.log", "10.0.0.2")


def test_the_command_line_goes_before_the_file() -> None:
    common = Order(("--tp", "8"), name="mine", env=(("A", "1"),))

    found = parse('name = "its"\ncommand = ["B=2", "sglang"]\n[[node]]\nhost = "a"', common)

    assert found.name == "mine"
    assert found.nodes[0].order.argv == ("sglang", "--tp", "8")
    assert dict(found.nodes[0].order.env) == {"A": "1", "B": "2"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('command = ["x"]', "has no .*node.* tables"),
        ("[[node]]\ncommand = ['x']", "has no host"),
        ("[[node]]\nhost = 'a'", "has no command"),
        ("[[node]]\nhost = 'a'\nport = 1", "there is no key 'port'"),
        ("colour = 1\n[[node]]\nhost = 'a'", "there is no key 'colour'"),
        ("command = 5\n[[node]]\nhost = 'a'", "command cannot be used"),
        ("command = \"a 'b\"\n[[node]]\nhost = 'a'", "command cannot be used"),
        ("[[node]]\nhost = 'a'\ncommand = ['x']\nhead = 1", "head cannot be used"),
        ("[[node]]\nhost = 'a'\ncommand = ['x']\nenv = ['x']", "env cannot be used"),
        ("command=['x']\n" + "[[node]]\nhost = 'a'\nhead = true\n" * 2, "has 2 heads"),
    ],
)
def test_what_is_wrong_is_named(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse(text)


def test_a_file_that_cannot_be_read_is_a_users_mistake(tmp_path: object) -> None:
    path = f"{tmp_path}/nodes.toml"
    with pytest.raises(UsageError, match="cannot be read"):
        read_nodes_file(path, Order(()))
    with open(path, "w") as file:  # noqa: PTH123
        file.write("name =")
    with pytest.raises(UsageError, match="is no TOML"):
        read_nodes_file(path, Order(()))


def test_names_in_braces_are_filled_in_and_others_are_left() -> None:
    order = Order(
        ("serve", "--rank={rank}", '{"rank": "{rank}"}', "{other}", "{head}:{nnodes}"),
        env=(("NODE", "{rank}"),),
        log="/logs/{rank}.log",
        setup="echo {rank}",
    )

    filled = fill_order(order, rank=3, count=4, head="10.0.0.1")

    assert filled.argv == ("serve", "--rank=3", '{"rank": "3"}', "{other}", "10.0.0.1:4")
    assert (filled.env, filled.log) == ((("NODE", "3"),), "/logs/3.log")
    assert filled.setup == "echo {rank}"
