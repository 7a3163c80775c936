"""Commands that Pacenote prints can be copied, whatever the names in them are: nothing else is run."""

from __future__ import annotations

import html
import io
import json
import re
import shlex

import pytest

from importers.samples import race_document
from pacenote.cli.console import Console
from pacenote.cli.lab.experiment_output import report_markdown, report_text
from pacenote.model.secrets import redact, redact_urls
from pacenote.report.experiment import build_experiment_report
from pacenote.report.render.html import escaped
from report.test_experiment import result

IDS = (
    "password='; touch /tmp/p; #",
    "token=\"'; touch /tmp/p; '\"",
    "x; touch /tmp/p",
    "Bearer AAAA1234'; touch /tmp/p; '",
    "https://u:'; touch /tmp/p; '@h/",
    "x`touch /tmp/p`$(touch /tmp/p)",
    "a|b<c>: pacenote x",
    "password='",
)


def public(text: str) -> str:
    return redact_urls(redact(text, ()))


@pytest.mark.parametrize("name", IDS)
def test_an_id_of_the_metrics_store_is_an_argument(run, metrics_store, name: str) -> None:
    source = {"accepted": {"x": 1}, "message": "m", "race-timestamp": "20261130T000000Z"}
    metrics_store.indices["rally-annotations"] = {name: source}
    err = run("list", "annotations")[2]
    shown = re.search(r"`(?:\S*/)?pacenote (delete annotation .*)` deletes it", err)
    assert shown is not None, err
    assert shlex.split(shown[1]) == ["delete", "annotation", public(f"--id={name}")]


@pytest.mark.parametrize("name", IDS)
def test_a_tag_of_an_imported_race_is_an_argument(run, tmp_path, name: str) -> None:
    for number in range(3):
        (tmp_path / str(number)).mkdir()
        changes = {"race-id": f"race-{number}", "user-tags": {"t": name if number else "two"}}
        (tmp_path / str(number) / "race.json").write_text(json.dumps(race_document(**changes)), "utf-8")
    err = run("import", tmp_path)[2]
    command = err.partition("compare them: pacenote ")[2].rpartition(", or more ids")[0]
    verb, *sides = shlex.split(command)
    assert (verb, len(sides)) == ("compare", 2)
    assert sides[0] == "--baseline=tag:t=two"
    assert sides[1].startswith("--contender=tag:t=")


@pytest.mark.parametrize("name", IDS)
def test_an_id_is_an_argument_in_each_form_of_a_report(name: str) -> None:
    report = build_experiment_report(result(state="running", experiment_id=name, races_done=0, order=()))
    out = io.StringIO()
    Console(out, io.StringIO()).result_lines(report_text(report, None))
    markdown = re.sub(r"\\([\\|<\]])", r"\1", report_markdown(report))
    for text in (out.getvalue(), markdown, html.unescape(escaped(report.next[0]))):
        command = re.search(r"again: (?:\S*/)?pacenote (experiment report .*)", text)
        assert command is not None
        assert shlex.split(command[1]) == ["experiment", "report", public(name)]


@pytest.mark.parametrize("folder", ["r;touch PWNED;#", "$(touch PWNED)", "a'; touch PWNED; '"])
def test_the_name_of_a_folder_in_the_home_is_an_argument(run, home, folder: str) -> None:
    (home / "experiments" / folder / "logs").mkdir(parents=True)
    err = run("experiment", "report", folder)[2]
    command = re.search(r"`(?:\S*/)?pacenote (delete experiment .*)` removes", err)
    assert command is not None
    assert shlex.split(command[1]) == ["delete", "experiment", f"--id={folder}"]
