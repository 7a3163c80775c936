"""Settings, JVM options and log levels are read from rendered files."""

from pathlib import Path

import pytest

from pacenote.errors import EngineError
from pacenote.teams.config_files import (
    parse_jvm_options,
    parse_log_levels,
    parse_settings,
    read_configuration,
)
from pacenote.teams.rendering import RenderedFiles, render
from teams.repositories import write_team


def test_a_whole_configuration_is_read(tmp_path: Path) -> None:
    root = write_team(tmp_path)
    folders = (root / "cars/v1/plain/templates", root / "cars/v1/buffers/templates")
    variables = {
        **{"cluster_name": "c", "network_host": "127.0.0.1", "http_port": "1", "data_paths": ["/d"]},
        **{"cluster_settings": {"plugin.mandatory": ["x"]}, "heap_size": "300m", "collector": "G1"},
        **{"heap_dump_path": "/dump", "node_name": "n", "buffer": "30%"},
    }
    configuration = read_configuration(render(root, folders, variables), java_major=21)
    assert configuration.heap_size == "300m"
    assert configuration.jvm_options == ("-XX:+UseG1GC", "-XX:HeapDumpPath=/dump")
    assert configuration.settings == {
        "cluster.name": "c",
        "network.host": "127.0.0.1",
        "http.port": "1",
        "path.data": "/d",
        "action.auto_create_index": "no",
        "script.max_size_in_bytes": "1000",
        "plugin.mandatory": ["x"],
        "indices.memory.index_buffer_size": "30%",
        "logger.org.example.index": "debug",
    }
    assert configuration.texts == {"config/words/stop.txt": "the n\n"}
    assert set(configuration.copies) == {"config/users"}


@pytest.mark.parametrize(
    "text", [r'"a: 1\nhttp.bind_host": 0.0.0.0', r'"a: 1\rb": 2', r'"a: 1\Lb": 2', "a: {'b #': 1}"]
)
def test_a_name_that_would_become_another_line_is_refused(text: str) -> None:
    with pytest.raises(
        EngineError, match=r"the templates for e\.yml set '.*', which is not the name of a sett"
    ):
        parse_settings("e.yml", text)


def test_options_are_selected_by_the_version_of_java() -> None:
    text = "-a\n8:-b\n9-:-c\n10-17:-d\n  # comment\n\n18-:--add-modules=x\n"
    assert list(parse_jvm_options("j", text, 8)) == ["-a", "-b"]
    assert list(parse_jvm_options("j", text, 17)) == ["-a", "-c", "-d"]
    assert list(parse_jvm_options("j", text, 25)) == ["-a", "-c", "--add-modules=x"]
    with pytest.raises(EngineError, match="produce line 2, 'nonsense', which is not an option of the JVM"):
        list(parse_jvm_options("j", "-a\nnonsense", 8))


@pytest.mark.parametrize(
    ("text", "heap", "others"),
    [
        ("-Xms1g\n-Xmx2g", "2g", ("-Xms1g",)),
        ("-Xmx2g\n-Xms2g", "2g", ()),
        ("-Xms\n-Xmx", "", ()),
        ("-Xms1g\n-Xmx1g\n-Xms3g\n-Xmx3g", "3g", ()),
        ("-Xss1m", "", ("-Xss1m",)),
    ],
)
def test_the_heap_is_separated_from_other_options(text: str, heap: str, others: tuple[str, ...]) -> None:
    configuration = read_configuration(RenderedFiles({"config/jvm.options": text}), 21)
    assert (configuration.heap_size, configuration.jvm_options) == (heap, others)


def test_values_of_settings_are_texts_and_empty_ones_are_omitted() -> None:
    text = "a: 1:30\nb: {c: yes, d: [1, x]}\ne:\nf: ''\nb.c: no\n"
    assert parse_settings("x.yml", text) == {"a": "1:30", "b.c": "no", "b.d": ["1", "x"]}
    assert parse_settings("x.yml", "# nothing\n") == {}


@pytest.mark.parametrize(
    ("text", "reason"), [("a: [", "do not produce YAML: "), ("just text", "which are not settings")]
)
def test_malformed_settings_are_reported(text: str, reason: str) -> None:
    with pytest.raises(EngineError, match=reason) as caught:
        parse_settings("config/elasticsearch.yml", text)
    assert "\n" not in caught.value.message


def test_a_level_of_the_root_logger_other_than_info_is_kept() -> None:
    assert parse_log_levels("rootLogger.level = debug\n") == {"logger.level": "debug"}
    assert parse_log_levels("rootLogger.level = info\nlogger.a.level = x\n") == {}
