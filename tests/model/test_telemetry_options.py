"""What makes a race a profiling race."""

from __future__ import annotations

import pytest

from pacenote.model.recorded_options import RecordedOptions
from pacenote.model.telemetry_options import profilers
from pacenote.verdict.determine import determine_verdict
from support.records import record


@pytest.mark.parametrize(
    ("option", "names"),
    [
        (
            "-agentpath:/opt/p/libasyncProfiler.so=start,event=cpu",
            ("agent libasyncProfiler.so",),
        ),
        ("-javaagent:/opt/apm/agent.jar", ("agent agent.jar",)),
        ("-agentlib:jdwp=transport=dt_socket,server=y", ("agent jdwp",)),
        ("-Xrunhprof:cpu=samples", ("agent hprof",)),
        ("-XX:StartFlightRecording:filename=a.jfr", ("jfr",)),
        ("-Xmx1g", ()),
        ("-Dagent=-javaagent:a.jar", ()),
    ],
)
def test_agents_and_recordings_make_a_race_a_profiling_race(option: str, names: tuple[str, ...]) -> None:
    assert profilers((), (option,)) == names
    assert profilers((), (), {"JAVA_TOOL_OPTIONS": f"-Xss1m {option}"}) == names
    assert profilers((), (), {"OTHER": option}) == ()
    verdict = determine_verdict(record(options=RecordedOptions(jvm_options=(option,))))
    assert any("a profiling race" in finding.text for finding in verdict.findings) == bool(names)


def test_each_of_them_is_named_once() -> None:
    options = ("-XX:StartFlightRecording", "-javaagent:/a/x.jar=1", "-javaagent:/a/x.jar=2")
    assert profilers(("jfr", "gc", "profile"), options) == ("jfr", "profile", "agent x.jar")
