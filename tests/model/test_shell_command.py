"""Commands to copy: a shell reads what was meant, whatever their arguments are, and without secrets."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Iterator
from random import Random

import pytest

from pacenote.model.secrets import REDACTED, redact, redact_urls
from pacenote.model.shell_command import UNKNOWN, shell_command, shell_words

PARTS = (
    *("password", "token", "api_key", "name", "--secret", "x", "touch /tmp/p", "12345678", "a" * 20),
    *(
        "'",
        '"',
        "\\",
        "\\'",
        '\\"',
        "=",
        ":",
        ",",
        " ",
        ";",
        "; ",
        "#",
        "&",
        "|",
        "$(id)",
        "`id`",
        "!",
        "*",
        "~",
    ),
    *(
        "[",
        "]",
        "(",
        ")",
        "{",
        "}",
        "<",
        ">",
        "/",
        "%20",
        "?key=",
        "&code=",
        "://",
        "user:pass@",
        "http://h/",
    ),
    *("Bearer ", "Basic ", "ABCdef12=", REDACTED, "…", "...", "é", "\u00a0", "`pacenote ", ": pacenote "),
    *("\n", "\x1b[31m", "\u202e"),
)
HOSTILE = (
    "password='; touch /tmp/p; #",
    "token=\"'; touch /tmp/p; '\"",
    "--x api_key='\"'; touch /tmp/p; '\"",
    "Bearer AAAA1234'; touch /tmp/p; '",
    "https://u:'; touch /tmp/p; '@h/",
    "password=",
    "password='",
    'secret="',
)
OPERATORS = frozenset(";&|<>()$`\n")


def public(text: str) -> str:
    return redact_urls(redact(text, ()))


def texts(count: int, seed: int) -> Iterator[str]:
    yield from HOSTILE
    draw = Random(seed)
    for _ in range(count):
        yield "".join(draw.choices(PARTS, k=draw.randint(1, 7)))


def test_a_shell_reads_each_argument_without_its_secrets() -> None:
    for text in texts(5000, 1):
        line = shell_command("pacenote", "report", f"--id={text}")
        shown = public(f"--id={text}")
        expected = shown if shown.isprintable() else UNKNOWN
        assert shlex.split(line) == ["pacenote", "report", expected], text


def test_a_search_for_secrets_changes_no_command() -> None:
    draw = Random(2)
    arguments = list(texts(2000, 3))
    for first in arguments:
        line = shell_command("pacenote", first, draw.choice(arguments), draw.choice(arguments))
        assert public(line) == line
        assert len(shlex.split(line)) == 4


def test_what_is_before_a_command_does_not_free_what_a_shell_obeys() -> None:
    draw = Random(4)
    arguments = list(texts(5000, 5))
    for before in arguments:
        text = draw.choice(arguments)
        line = shell_command("pacenote", "delete", "annotation", f"--id={text}")
        shown = public(f"annotation {before} is wrong; `{line}` deletes it").removesuffix("` deletes it")
        if "pacenote delete annotation" in shown and shown.endswith(line):
            continue
        # A part of the command seemed to be a secret: what is left of it runs nothing, wherever it is cut.
        rest = next((line[at:] for at in range(len(line)) if shown.endswith(line[at:])), "")
        if shown.endswith(REDACTED):
            rest = ""  # Nothing is left of it.
        freed = re.sub(r"\\.", "", rest).replace(REDACTED, "")
        assert OPERATORS.isdisjoint(freed), (before, text, shown)


@pytest.mark.process
@pytest.mark.parametrize("shell", ["/bin/sh", "/bin/bash"])
def test_shells_agree(shell: str) -> None:
    arguments = [text for text in texts(100, 6) if public(text).isprintable()]
    for text in arguments:
        command = f"printf '%s\\0' {' '.join(shell_words([text]))}"
        read = subprocess.run([shell, "-c", command], capture_output=True, check=True).stdout
        assert read.decode() == public(text) + "\0"


def test_usual_arguments_are_shown_as_usual() -> None:
    assert shell_command("pacenote", "report", "20261130-a") == "pacenote report 20261130-a"
    assert shell_words(['--track-params={"a": 1}', "--car=a,b", ""]) == [
        "'--track-params={\"a\": 1}'",
        "--car=a,b",
        "''",
    ]
    assert shell_words(["--env=TOKEN=abcdef1"]) == ["'--env=TOKEN=<hidden>'"]
    assert shell_words(["--id=it's; x"]) == [r"--id\=it\'s\;\ x"]


def test_an_argument_that_seems_to_belong_to_the_one_before_is_left_out() -> None:
    assert shell_command("x", "--token", "abcd1234", "b") == f"x --token {UNKNOWN} b"


def test_a_command_in_a_message_is_not_longer_than_the_console_shows() -> None:
    assert shell_command("pacenote", "report", "'" * 10_000) == f"pacenote report {UNKNOWN}"
    line = shell_command("pacenote", *map(str, range(10_000)))
    assert len(line) < 3100
    assert line.endswith(UNKNOWN)
    assert len(shell_words(["x y" * 10_000])[0]) > 30_000
