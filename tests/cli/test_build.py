"""`pacenote build` prints the paths of what it built as JSON."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from support.source_checkout import commit, git, write_checkout, write_jdk

pytestmark = pytest.mark.process


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    monkeypatch.setenv("JAVA21_HOME", str(write_jdk(tmp_path / "jdk")))
    return write_checkout(tmp_path / "es")


def test_an_engine_and_a_plugin_are_built(run, checkout, home):
    command = ("build", f"--source-path={checkout}", "--revision=elasticsearch:latest", "--quiet")
    code, out, err = run(*command, "--elasticsearch-plugins=analysis-icu")
    assert (code, err) == (0, "")
    paths = json.loads(out)
    assert list(paths) == ["elasticsearch", "analysis-icu"]
    assert Path(paths["elasticsearch"]).read_text() == "one"
    assert Path(paths["analysis-icu"].removeprefix("file://")).read_text() == "one"
    assert "gradlew" in (home / "sources" / "build.log").read_text()


def test_a_plugin_that_the_sources_lack_is_reported(run, checkout):
    code, out, err = run("build", f"--source-path={checkout}", "--elasticsearch-plugins=other", "--quiet")
    assert (code, out) == (64, "")
    assert err.startswith("error: the sources of elasticsearch have no plugin other\n")


def test_the_release_build_is_another_build(run, checkout, home):
    first = run("build", f"--source-path={checkout}", "--quiet")[1]
    second = run("build", f"--source-path={checkout}", "--quiet", "--source-build-release")[1]
    assert first != second
    assert " -Dbuild.snapshot=false :distribution" in (home / "sources" / "build.log").read_text()


def test_the_repository_and_the_cache_of_rally_ini_are_used(run, checkout, tmp_path, home):
    ini = tmp_path / "rally" / ".rally" / "rally.ini"
    ini.parent.mkdir(parents=True)
    ini.write_text(f"[source]\nremote.repo.url = file://{checkout}\ncache.days = 0\n")
    code, out, err = run("build", "--quiet", "--revision=latest")
    assert (code, err) == (0, "")
    assert Path(json.loads(out)["elasticsearch"]).is_relative_to(home / "sources")
    assert not (home / "sources" / "builds").exists()


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--revision=--x", "--revision cannot be '--x'"),
        ("--source-path=/no/such/folder", "--source-path=/no/such/folder is not a folder"),
        ("--source-build-method=docker", "--source-build-method is not available"),
        ("--distribution=solr", "--distribution cannot be 'solr'"),
    ],
)
def test_wrong_options_are_reported(run, option, message):
    code, out, err = run("build", option, "--offline")
    assert (code, out) == (2, "")
    assert message in err.splitlines()[0]


def test_the_car_of_a_team_repository_has_the_commands(run, checkout, tmp_path, home):
    cars = tmp_path / "team" / "cars" / "v1"
    (cars / "own" / "templates" / "config").mkdir(parents=True)
    (cars / "own" / "templates" / "config" / "elasticsearch.yml").write_text(
        "cluster.name: {{cluster_name}}\n"
    )
    (cars / "mine.ini").write_text("[meta]\ntype=car\n[config]\nbase=own\n[variables]\nclean_command=\n")
    suffix = ".arch" if os.uname().machine == "aarch64" else ""
    (cars / "own" / "config.ini").write_text(
        "[variables]\nbuild.jdk = 17\nheap_size = 1g\n"
        f"system.build_command{suffix} = mkdir -p out && echo {{{{OSNAME}}}} > out/engine.tar.gz\n"
        f"system.artifact_path_pattern{suffix} = out/*.tar.gz\n"
    )
    code, out, err = run(*(
        "build",
        f"--source-path={checkout}",
        f"--team-path={tmp_path / 'team'}",
        "--car=mine",
        "--quiet",
    ))
    assert (code, err) == (0, "")
    assert Path(json.loads(out)["elasticsearch"]).read_text() == "linux\n"
    assert "$ mkdir -p out" in (home / "sources" / "build.log").read_text()


def test_a_plugin_of_its_own_repository_is_built_as_rally_ini_describes_it(run, checkout, tmp_path):
    sources = tmp_path / "src" / "mine"
    sources.mkdir(parents=True)
    git(sources, "init", "--quiet", "--initial-branch=main")
    commit(sources, "first")
    ini = tmp_path / "rally" / ".rally" / "rally.ini"
    ini.parent.mkdir(parents=True)
    ini.write_text(
        f"[node]\nsrc.root.dir = {tmp_path / 'src'}\n[source]\nplugin.mine.src.subdir = mine\n"
        f"plugin.mine.remote.repo.url = file://{sources}\nplugin.mine.build.artifact.subdir = out\n"
        "plugin.mine.build.command = mkdir -p out && cp engine.txt out/mine.zip\n"
        "plugin.other.src.subdir = other\n"
    )

    def built(*options):
        command = ("build", f"--source-path={checkout}", "--elasticsearch-plugins=mine", "--quiet")
        code, out, err = run(*command, *options)
        assert (code, err) == (0, "")
        return Path(json.loads(out)["mine"].removeprefix("file://")).read_text()

    assert built() == "first"
    (sources / "engine.txt").write_text("changed")
    assert built() == "changed"
    assert built("--revision=latest") == "first"
    second = commit(sources, "second")
    assert built(f"--revision=elasticsearch:current,mine:{second}") == "second"

    command = ("build", f"--source-path={checkout}", "--quiet")
    _, _, err = run(
        *command, "--elasticsearch-plugins=mine", f"--revision={git(checkout, 'rev-parse', 'HEAD')}"
    )
    assert err.startswith("error: --revision names no revision of plugin mine\n")
    _, _, err = run(*command, "--elasticsearch-plugins=other")
    assert err.startswith("error: rally.ini: [source] lacks plugin.other.build.command, or where")
