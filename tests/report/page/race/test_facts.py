"""The conditions of a race on its page."""

from __future__ import annotations

from pacenote.model.race_record import Environment, RecordedCorpus
from pacenote.model.recorded_options import RecordedOptions
from pacenote.report.page.page import FactList
from pacenote.report.page.race.facts import environment_blocks
from support.records import record

RACE = record(
    complete=True,
    environment=Environment(cpu_logical_cores=2, os_name="Linux", kernel="6.18"),
    user_tags={"build": "nightly-17"},
    options=RecordedOptions(settings={"index.codec": "zstd"}),
    corpora=(RecordedCorpus("geonames", "excerpt", 1_000, 9_000),),
)


def facts() -> list[tuple[str, str]]:
    """Returns the labels and the texts of all facts."""
    lists = (block for block in environment_blocks(RACE) if isinstance(block, FactList))
    return [(str(label), str(text)) for block in lists for label, text in block.facts]


def test_each_condition_is_said_once() -> None:
    texts = [text for _, text in facts()]
    for condition in ("nightly-17", "index.codec=zstd", "geonames", "do not compare", "Linux 6.18"):
        assert len([text for text in texts if condition in text]) == 1, condition


def test_the_machine_and_a_cluster_that_the_race_did_not_start_are_named() -> None:
    assert ("Machine", "driver on 2 cores, Linux 6.18") in facts()
