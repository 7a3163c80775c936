"""The engine plugins of a team repository."""

from pathlib import Path

import pytest

from pacenote.errors import EngineError, UsageError
from pacenote.teams.plugins import PluginRequest, list_plugins, parse_plugins, read_plugin
from teams.repositories import write_team


def test_plugins_are_listed_with_their_configurations(tmp_path: Path) -> None:
    assert list_plugins(write_team(tmp_path)) == (
        PluginRequest("analysis-icu"),
        PluginRequest("repository-hdfs"),
        PluginRequest("repository-s3"),
        PluginRequest("my-plugin", ("empty",)),
        PluginRequest("my-plugin", ("fast",)),
    )


def test_configurations_follow_a_colon() -> None:
    assert parse_plugins(("a", "b:x+y")) == (PluginRequest("a"), PluginRequest("b", ("x", "y")))
    for item in ("", "a:", ":x", "a:b:c"):
        with pytest.raises(UsageError, match="is not a plugin"):
            parse_plugins((item,))


def test_a_configured_plugin_has_bases_and_variables(tmp_path: Path) -> None:
    plugin = read_plugin(write_team(tmp_path), PluginRequest("my-plugin", ("empty", "fast")))
    assert [base.name for base in plugin.bases] == ["default"]
    assert plugin.variables == {"mode": "fast"}


def test_a_plugin_that_has_become_a_module_is_not_installed(tmp_path: Path) -> None:
    root = write_team(tmp_path)
    assert read_plugin(root, PluginRequest("repository-s3")).is_module
    core = write_team(tmp_path / "7", {"plugins/v1/core-plugins.txt": "repository-s3\n"})
    assert not read_plugin(core, PluginRequest("repository-s3")).is_module


def test_unknown_plugins_are_accepted_unless_they_are_misspelt(tmp_path: Path) -> None:
    root = write_team(tmp_path)
    assert read_plugin(root, PluginRequest("community")).folder is None
    with pytest.raises(UsageError, match=r'no plugin "analysis-ico" \(did you mean "analysis-icu"\?\)'):
        read_plugin(root, PluginRequest("analysis-ico"))


def test_unknown_configurations_are_reported(tmp_path: Path) -> None:
    root = write_team(tmp_path)
    with pytest.raises(UsageError, match=r'has no configuration "fats" \(did you mean "fast"\?\)') as caught:
        read_plugin(root, PluginRequest("my-plugin", ("fats",)))
    assert caught.value.hint == "its configurations: empty, fast"
    with pytest.raises(EngineError, match="no configuration of empty names a base"):
        read_plugin(root, PluginRequest("my-plugin", ("empty",)))
    with pytest.raises(UsageError, match="is not the name of a plugin"):
        read_plugin(root, PluginRequest("../../x", ("fast",)))


def test_links_in_a_repository_do_no_harm(tmp_path: Path) -> None:
    root = write_team(tmp_path)
    before = list_plugins(root)
    for name in ("long", "my_plugin/default.ini.d", "core-plugins.d"):
        (root / "plugins" / "v1" / name).symlink_to("a" * 300)
    assert list_plugins(root) == before
    (root / "plugins" / "v1" / "my_plugin" / "long.ini").symlink_to("a" * 300)
    with pytest.raises(UsageError, match='has no configuration "long"'):
        read_plugin(root, PluginRequest("my-plugin", ("long",)))
