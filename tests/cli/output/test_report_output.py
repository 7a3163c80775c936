"""What a report looks like on a terminal, and in a file or a pipe."""

import io

import pytest

from pacenote.cli.console import Console
from pacenote.cli.output.report_output import add_report_options, show_report
from pacenote.cli.parser import Parser
from support.records import record


class Terminal(io.StringIO):
    def isatty(self):
        return True


def shown(home, out, *arguments):
    """Returns what is printed to `out`."""
    console = Console(out, io.StringIO())
    parser = Parser("report", "", console, {})
    add_report_options(parser)
    show_report(record(), home / "races" / "race-1", parser.parse(arguments), console)
    return out.getvalue()


@pytest.mark.parametrize(
    ("terminal", "arguments", "is_short"),
    [
        (True, (), True),
        (True, ("--report=full",), False),
        (True, ("--report-format=markdown",), False),
        (True, ("--show-in-report=all",), False),
        (True, ("--report=short", "--show-in-report=all"), True),
        (False, (), False),
        (False, ("--report=short",), True),
    ],
)
def test_a_terminal_gets_one_screen_and_others_all_figures_unless_asked_otherwise(
    home, terminal, arguments, is_short
):
    text = shown(home, Terminal() if terminal else io.StringIO(), *arguments)
    assert (" VALID " in text, "Mean Throughput" in text) == (is_short, not is_short)


def test_the_file_has_all_figures_beside_the_screen(home, tmp_path):
    text = shown(home, Terminal(), f"--report-file={tmp_path / 'r.md'}")
    assert "Mean Throughput" not in text
    assert "Mean Throughput" in (tmp_path / "r.md").read_text()
