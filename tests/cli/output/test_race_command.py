"""The command that repeats a race, from what its record has."""

from __future__ import annotations

import shlex

import pytest
from msgspec.structs import replace

from pacenote.cli.output.race_command import race_command
from pacenote.model.imported import ImportedResults
from pacenote.model.pacing_options import PacingOptions
from pacenote.model.race_record import RecordedClient, RecordedTrack
from pacenote.model.recorded_options import RecordedOptions
from pacenote.model.saturation_answer import RecordedSaturation
from pacenote.model.started_node import StartedNode
from support.records import record

PLAIN = record(track=RecordedTrack("http_logs"), user_tags={}, challenge=None)
STARTED = replace(
    PLAIN,
    cluster=replace(PLAIN.cluster, started_nodes=(StartedNode(name="node-0"),)),
    options=RecordedOptions(distribution="opensearch", data="fresh"),
)


@pytest.mark.parametrize(
    ("race", "expected", "checks"),
    [
        (STARTED, "--track=http_logs --distribution=opensearch --distribution-version=3.3.0 --seed=42", ()),
        (
            replace(
                PLAIN,
                pipeline="benchmark-only",
                client=RecordedClient(hosts=("http://a:9200", "http://b:9200")),
                challenge="fast one",
                pacing=PacingOptions(open_loop=True),
                user_tags={"a": "b", "n": 1},
                max_error_rate=0.05,
                options=RecordedOptions(test_mode=True, telemetry=("jfr", "gc"), samples="none"),
            ),
            "--track=http_logs '--challenge=fast one' --pipeline=benchmark-only "
            "--target-hosts=http://a:9200,http://b:9200 --open-loop --seed=42 --test-mode --telemetry=jfr,gc "
            "--user-tags=a:b,n:1 --max-error-rate=5.0 --samples=none",
            (
                "Check first: race race-1, which this home is not known to have run, names code, "
                'programs, addresses or paths: pipeline=benchmark-only, target-hosts=["http://a:9200", "http://b:9200"].',
            ),
        ),
    ],
)
def test_the_command_has_the_options_of_the_race(race, expected, checks):
    command, notes = race_command(race, "pacenote")
    assert shlex.split(command.replace(" \\\n", "")) == shlex.split(f"pacenote race {expected}")
    assert all(line.endswith(" \\") for line in command.split("\n")[:-1])
    assert notes == checks


def test_notes_say_what_the_command_does_not_repeat():
    race = replace(
        STARTED,
        track=RecordedTrack("http_logs", "0123456789abcdef", {"api_key": "hidden"}),
        client=RecordedClient(authentication="basic"),
    )
    command, notes = race_command(race, "pacenote")
    assert "<hidden>" in command
    assert notes == (
        "Secrets were not stored: replace <hidden>.",
        "Add --client-options: how the driver authenticated itself is not stored.",
        "The track was at revision 0123456789ab.",
    )


def test_races_that_cannot_be_repeated_say_why():
    imported = replace(PLAIN, imported=ImportedResults("rally", "race", "race.json", "0" * 64))
    answer = RecordedSaturation(task="search", answer="100/s", stable=100.0, unstable=120.0)
    for race, reason in (
        (imported, "Not known: race race-1 was imported: the options to repeat it are not known."),
        (replace(PLAIN, saturation=answer), "Not known: it is a search for the highest rate, by `saturate`."),
    ):
        assert race_command(race, "pacenote") == ("", (reason,))
