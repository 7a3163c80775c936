"""What makes a race a profiling race."""

from __future__ import annotations

import pytest

from pacenote.model.recorded_options import RecordedOptions
from pacenote.model.telemetry_options import profilers, reported_profilers
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


def test_quotation_marks_of_a_variable_keep_spaces_as_the_launcher_of_java_does() -> None:
    options = "-Xss1m '-javaagent:/a b/x.jar' \"-agentpath:/c d/y.so=a\""
    assert profilers((), (), {"JDK_JAVA_OPTIONS": options}) == ("agent x.jar", "agent y.so")
    assert profilers((), (), {"JDK_JAVA_OPTIONS": "-Da=' -javaagent:x.jar"}) == ("agent x.jar",)


@pytest.mark.parametrize(
    ("option", "names"),
    [
        ("-javaagent:agent/opensearch-agent.jar", ()),
        ("-javaagent:/engine/modules/apm/elastic-apm-agent-1.5.jar=c=/tmp/x", ()),
        ("-javaagent:/engine/lib/tools/agent.jar", ()),
        ("-javaagent:/opt/apm.jar", ("agent apm.jar",)),
        ("-javaagent:/opt/modules/apm/apm.jar", ("agent apm.jar",)),
        ("-javaagent:/engine/plugins/x/apm.jar", ("agent apm.jar",)),
        ("-javaagent:/engine/modules/../../apm.jar", ("agent apm.jar",)),
        ("-javaagent:modules", ("agent modules",)),
        ("-XX:StartFlightRecording=filename=x.jfr", ("jfr",)),
        ("-Xmx1g", ()),
    ],
)
@pytest.mark.parametrize("engine", ["opensearch", "es"])
def test_what_a_jvm_reports_is_profiling_unless_it_belongs_to_the_engine(
    engine: str, option: str, names: tuple[str, ...]
) -> None:
    assert reported_profilers(("-Xms1g", option, f"-D{engine}.path.home=/engine")) == names
