"""Configuration files and their precedence."""

import os
from pathlib import Path

import pytest

from pacenote.cli.commands import COMMANDS, command_parser
from pacenote.cli.console import Console
from pacenote.cli.options import configuration
from pacenote.cli.options.configuration import apply_configuration, read_configuration
from pacenote.errors import UsageError
from support.records import record


@pytest.fixture
def configured(home, tmp_path, monkeypatch):
    """Returns a function that writes the three configuration files."""
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)

    def write(*, in_home="", in_work="", rally=""):
        for folder, name, text in (
            (home, "pacenote.toml", in_home),
            (work, "pacenote.toml", in_work),
            (tmp_path / "rally" / ".rally", "rally.ini", rally),
        ):
            if text:
                folder.mkdir(parents=True, exist_ok=True)
                (folder / name).write_text(text)

    return write


@pytest.fixture
def trusting(monkeypatch):
    """Trusts the file of the working folder."""
    monkeypatch.setenv("PACENOTE_TRUST", "1")


@pytest.fixture
def request_of(run, fake_race):
    requests = fake_race(lambda request, listener: record(request.race_id))

    def request_of(*arguments):
        code, _, err = run("race", *arguments)
        assert code == 0, err
        return requests[-1]

    return request_of


RALLY = """
[meta]
config.version = 17
[benchmarks]
local.dataset.cache = ${CONFIG_DIR}/benchmarks/data
[defaults]
preserve_benchmark_candidate = true
[tracks]
default.url = https://rally/default
theirs.url = https://rally/theirs
[reporting]
datastore.type = in-memory
sample.queue.size = 1000
"""


def test_precedence_is_flags_then_current_folder_then_home_then_rally(configured, request_of, tmp_path):
    configured(rally=RALLY)
    request = request_of("--track=x")
    assert request.dataset_cache == tmp_path / "rally" / ".rally" / "benchmarks" / "data"
    assert request.engine.preserve_install
    configured(in_home='preserve-install = false\nseed = 1\n[tracks]\ndefault.url = "https://home/default"\n')
    request = request_of("--track=x")
    assert (request.engine.preserve_install, request.seed) == (False, 1)
    assert request.repository_urls == {"default": "https://home/default", "theirs": "https://rally/theirs"}
    configured(in_work="[race]\nseed = 2\n")
    assert request_of("--track=x").seed == 2
    assert request_of("--track=x", "--seed=3").seed == 3


def test_values_have_the_types_of_toml(trusting, configured, request_of):
    configured(
        in_work="""
        track = "books"
        test-mode = true
        max-error-rate = 2.5
        include-tasks = ["a, b", "tag:x"]
        [race]
        track-params = {url = "http://x:1/a,b", size = 5}
        on-error = "abort"
        """
    )
    request = request_of()
    assert (request.track, request.test_mode, request.max_error_rate) == ("books", True, 0.025)
    assert request.include_tasks == ("a, b", "tag:x")
    assert request.track_params == {"url": "http://x:1/a,b", "size": 5}
    assert request.on_error == "abort"
    assert not request_of("--no-test-mode").test_mode
    assert request_of("--exclude-tasks=c").include_tasks == ()
    assert request_of("--track-path=elsewhere").track is None


def test_an_overriding_file_removes_excluded_options(trusting, configured, request_of):
    configured(in_home='track = "books"\nexclude-tasks = "a"\n', in_work='track-path = "mine"\n')
    request = request_of("--include-tasks=b")
    assert (request.track, str(request.track_path)) == (None, "mine")
    assert (request.include_tasks, request.exclude_tasks) == (("b",), ())


def test_values_that_look_like_flags_are_not_flags(trusting, configured, request_of):
    configured(in_work='track = "books"\n')
    assert request_of("--challenge", "track-path").track == "books"


def test_lists_and_tildes_are_expanded(trusting, configured, request_of, monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    configured(in_work='dataset-cache = "~/data"\ncorpus-mirror = ["http://a/x,y", "s3://b=https://c"]\n')
    request = request_of("--track-path=~/mine")
    assert (request.dataset_cache, request.track_path) == (tmp_path / "data", tmp_path / "mine")
    assert request.corpus_mirrors == ("http://a/x,y", "s3://b=https://c")
    assert str(request_of("--track-path=~nobody-of-that-name").track_path) == "~nobody-of-that-name"


def test_options_of_other_commands_are_ignored(configured, run, tmp_path):
    configured(in_work='seed = 5\nformat = "json"\n[race]\nzzz = 1\n')
    assert run("list", "cars")[1].startswith("[")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "[race]\nsede = 1",
            "pacenote.toml: race.sede: `pacenote race` has no option sede\nhint: did you mean seed",
        ),
        ("seed = -1", "pacenote.toml: seed: --seed must be a whole number"),
        (
            "[race]\ndriver-threads = 'x'",
            "pacenote.toml: race.driver-threads must be a whole number above 0, not 'x'",
        ),
        (
            "[race]\nmax-shortfall = 200",
            "pacenote.toml: race.max-shortfall must be a percentage from 0 to 100, not '200'",
        ),
        ("test-mode = 1", "pacenote.toml: test-mode must be true or false"),
        ("on-error = 'explode'", "pacenote.toml: on-error must be one of continue, "),
        ("race = 1", "pacenote.toml: race is a command; put its options below [race]"),
        ("[tracks]\nmine = 'x'", "pacenote.toml: [tracks] must contain URLs of track repositories"),
        ("quiet = true\nrace = 1", "pacenote.toml: race is a command; put its options below [race]"),
        ("[race", "pacenote.toml is not valid TOML: "),
    ],
)
def test_errors_name_file_and_key(configured, run, tmp_path, text, message):
    configured(in_work=text)
    code, out, err = run("race", "--track=x")
    assert (code, out) == (2, "")
    assert err.startswith(f"error: {tmp_path / 'work'}/{message}")


def test_unused_keys_of_rally_are_reported_with_debug(configured, run):
    configured(rally=RALLY)
    assert run("list", "cars", "--quiet")[2] == ""
    _, _, err = run("list", "cars", "--debug")
    assert err.endswith(
        "rally.ini: [reporting] sample.queue.size has no counterpart in Pacenote and is not used\n"
    )


def test_a_configuration_name_selects_a_different_rally_ini(configured, request_of, run, tmp_path):
    configured(rally=RALLY)
    file = tmp_path / "rally" / ".rally" / "rally-ci.ini"
    file.write_text("[tracks]\nci.url = https://rally/ci\n[driver]\nserverless.mode = true\n")
    request = request_of("--track=x", "--configuration-name=ci")
    assert (request.repository_urls, request.build_flavor) == ({"ci": "https://rally/ci"}, "serverless")
    code, _, err = run("race", "--track=x", "--configuration-name", "nope")
    assert code == 2
    assert err.startswith("error: --configuration-name=nope: ")


@pytest.mark.parametrize(
    ("create", "message"),
    [
        (Path.mkdir, " cannot be read: it is not a regular file"),
        (os.mkfifo, " cannot be read: it is not a regular file"),
        (lambda file: file.symlink_to(file), " cannot be read: Too many levels of symbolic links"),
        (lambda file: file.write_bytes(b"[a]\nb = \xff\n"), " cannot be read: 'utf-8' codec can't decode"),
        (lambda file: file.write_text("s3cr3t\n"), ":1: this line is neither a section nor a key"),
        (lambda file: file.write_text("[a]\n\ns3cr3t\n"), ":3: this line is neither a section nor a key"),
        (lambda file: file.write_text("[a]\nb=1\nb=s3cr3t\n"), " cannot be read: While reading from "),
    ],
)
def test_a_rally_ini_that_cannot_be_read_is_an_error_of_one_line(run, tmp_path, create, message):
    file = tmp_path / "rally" / ".rally" / "rally.ini"
    file.parent.mkdir(parents=True)
    create(file)
    code, out, err = run("list", "cars")
    assert (code, out) == (2, "")
    assert err.startswith(f"error: {file}{message}")
    assert err.count("\n") == 1
    assert "s3cr3t" not in err


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_without_permission_is_an_error_of_one_line(configured, run, tmp_path):
    configured(rally=RALLY)
    folder = tmp_path / "rally" / ".rally"
    try:
        for locked in (folder / "rally.ini", folder):
            locked.chmod(0)
            code, _, err = run("list", "cars")
            assert (code, err) == (2, f"error: {folder / 'rally.ini'} cannot be read: Permission denied\n")
    finally:
        folder.chmod(0o700)


@pytest.mark.parametrize("configured_text", ['"p99:term<100ms"', '["p99:term<100ms"]'])
def test_an_option_that_may_be_repeated_is_configured_as_text_or_list(configured, configured_text):
    configured(in_work=f"threshold = {configured_text}")
    parser = command_parser("report", Console())
    apply_configuration(read_configuration("report", COMMANDS, Path("missing")), parser, ())
    assert parser.parse(["latest"]).threshold == ("p99:term<100ms",)
    # What is given replaces it.
    assert parser.parse(["latest", "--threshold=errors<1%"]).threshold == ("errors<1%",)


def test_an_option_that_stands_for_a_value_of_another_one_is_configured(configured):
    configured(in_work="full = true")
    parser = command_parser("diagnose", Console())
    apply_configuration(read_configuration("diagnose", COMMANDS, Path("missing")), parser, ())
    assert parser.parse(["latest"]).report == "full"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to other users")
def test_a_home_of_another_user_configures_nothing(configured, run, home):
    """It may name a track, which is code."""
    configured(in_home="track-path = 'x'")
    os.chown(home, 65534, 65534)
    code, out, err = run("validate-track")
    assert (code, out) == (2, "")
    assert err.startswith(
        f"error: {home / 'pacenote.toml'} could be written by others: {home} belongs to user "
    )


def test_a_file_in_the_home_that_others_may_write_to_says_what_to_do(configured, run, home):
    """A container may have created it with a umask of 0."""
    configured(in_home="offline = true")
    (home / "pacenote.toml").chmod(0o666)
    code, _, err = run("list", "races")
    assert code == 2
    assert "pacenote.toml can be written by other users" in err
    assert "`chmod go-w`" in err


def test_a_file_in_the_home_that_is_gone_after_it_was_read_is_not_used(configured, home, monkeypatch):
    """Another user may have put it there, and have removed it before it was checked."""
    configured(in_home="track-path = 'x'")
    read = configuration.read_configuration_file

    def removed_afterwards(file: Path) -> bytes | None:
        content = read(file)
        file.unlink(missing_ok=True)
        return content

    monkeypatch.setattr(configuration, "read_configuration_file", removed_afterwards)
    with pytest.raises(UsageError, match="is replaced or removed"):
        read_configuration("race", COMMANDS, home)
