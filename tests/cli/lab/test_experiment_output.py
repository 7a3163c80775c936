"""The result of an experiment as text."""

from pacenote.cli.lab.experiment_output import report_text
from pacenote.report.experiment import ExperimentReport


def test_suggested_commands_are_those_with_which_the_program_was_started(tmp_path, monkeypatch):
    program = tmp_path / "pacenote"
    program.touch()
    monkeypatch.setattr("sys.argv", [str(program)])
    next_steps = ("all metrics: pacenote experiment report e", "another pacenote race")
    told = report_text(ExperimentReport("t", (), (), (), next_steps), None)
    assert f"next: all metrics: {program} experiment report e\n" in told
    assert "next: another pacenote race\n" in told
