"""The commands that look at tracks: `list`, `info`, `validate-track`, `render-track`."""

import json
import subprocess
import sys

import pytest

from pacenote.track.git import git
from track.builders import document

CHALLENGES = [
    {
        "name": "fast",
        "default": True,
        "description": "A quick look.",
        "user-info": "Mind the gap.",
        "schedule": [
            {"operation": "read", "clients": 4, "target-throughput": 10, "tags": ["hot"]},
            {
                "parallel": {
                    "completed-by": "a",
                    "tasks": [
                        {"name": "a", "operation": "read"},
                        {"name": "b", "operation": "force-merge"},
                    ],
                }
            },
        ],
    },
    {"name": "slow", "schedule": [{"operation": "read", "iterations": 10}]},
]


@pytest.fixture
def books(tmp_path):
    """A folder with one track, and its template reads a parameter."""
    folder = tmp_path / "tracks" / "books"
    folder.mkdir(parents=True)
    text = json.dumps(
        document(challenges=CHALLENGES, description="{{ about | default('Books.') }}"), indent=1
    )
    (folder / "track.json").write_text(text)
    return folder


def test_tracks_of_a_folder_are_listed(run, books):
    arguments = ("list", "tracks", f"--track-path={books.parent}")
    code, out, err = run(*arguments)
    assert (code, err) == (0, "")
    header, _, line = out.splitlines()
    assert header.split("  ")[0] == "Name"
    assert line.split() == ["books", "10", "fast", "Books."]
    (found,) = json.loads(run(*arguments, "--format=json")[1])
    assert (found["name"], found["documents"], found["challenges"]) == ("books", 10, ["fast", "slow"])


def test_a_list_is_remembered_until_a_file_changes(run, books, home):
    arguments = ("list", "tracks", f"--track-path={books.parent}", "--format=json")
    first = run(*arguments)
    (kept,) = (home / "cache").iterdir()
    kept.write_text(kept.read_text().replace("Books.", "Remembered."))
    (remembered,) = json.loads(run(*arguments)[1])
    assert remembered["description"] == "Remembered."
    (books / "more.json").write_text("{}")
    assert run(*arguments) == first
    kept.write_text("{")
    assert run(*arguments) == first


def test_a_track_that_cannot_be_read_is_listed(run, books):
    (books / "track.json").write_text("{{ 1 / 0 }}")
    code, out, _ = run("list", "tracks", f"--track-path={books.parent}")
    assert code == 0
    assert "cannot be read: track.json, line 1: cannot be rendered: ZeroDivisionError" in out


def test_bundled_tracks_are_listed_with_the_way_to_more(run):
    code, out, err = run("list", "tracks")
    assert code == 0
    assert out.splitlines()[2].startswith("http_logs  247,249,096")
    assert err == "more tracks: --track-repository=default, or the name or URL of another\n"
    assert run("list", "tracks", "--quiet")[2] == ""


def test_tracks_of_a_repository_are_listed_and_shown(run, books):
    root = books.parent
    git("init", "--quiet", "--initial-branch=master", at=root)
    git("add", "--all", at=root)
    who = ("-c", "user.name=me", "-c", "user.email=me@example.org", "-c", "commit.gpgsign=false")
    git(*who, "commit", "--quiet", "--message=first", at=root)
    code, out, err = run("list", "tracks", f"--track-repository={root.as_uri()}")
    assert (code, out.splitlines()[2].split()[0]) == (0, "books")
    assert ", branch master, revision " in err
    code, out, err = run("info", "--track=books", f"--track-repository={root.as_uri()}", "--offline")
    assert (code, out.splitlines()[0]) == (0, "Track books")
    assert "its templates and code run as you do" in err


@pytest.mark.parametrize(("name", "what"), [("nonexistent", "does not exist"), ("file", "is no folder")])
def test_a_track_path_that_is_no_folder(run, tmp_path, name, what):
    (tmp_path / "file").touch()
    code, out, err = run("list", "tracks", f"--track-path={tmp_path / name}")
    assert (code, out) == (2, "")
    assert err.startswith(f"error: --track-path {tmp_path / name} {what}\n")


@pytest.mark.parametrize(
    ("what", "line"),
    [
        ("pipelines", "benchmark-only     race against a cluster that runs already"),
        ("cars", "4gheap      4 GB of heap"),
        ("telemetry", "jvm-stats    Count and time of collections"),
        ("elasticsearch-plugins", "No plugins of the engine are available."),
    ],
)
def test_other_things_are_listed(run, what, line):
    code, out, err = run("list", what)
    assert (code, err) == (0, "")
    assert any(text.startswith(line) for text in out.splitlines())
    assert isinstance(json.loads(run("list", what, "--format=json")[1]), list)


def test_info_shows_data_challenges_and_tasks(run, books):
    code, out, err = run("info", f"--track-path={books}")
    assert (code, err) == (0, "")
    assert out == (
        "Track books\n"
        "  Books.\n"
        "\n"
        "Documents: 10 documents\n"
        "  library: 1 file, 10 documents\n"
        "Indices: books\n"
        "\n"
        "Challenge fast (run by default)\n"
        "===============================\n"
        "  A quick look.\n"
        "  Note: Mind the gap.\n"
        "1. read (search, 4 clients, 10 ops/s, tags hot)\n"
        "2. in parallel, 2 clients, completed by a:\n"
        "   2.1 a (search)\n"
        "   2.2 b (force-merge)\n"
        "\n"
        "Challenge slow\n"
        "==============\n"
        "1. read (search)\n"
    )


def test_info_of_a_part(run, books):
    _, out, _ = run("info", f"--track-path={books}", "--challenge=fast", "--exclude-tasks=a,read")
    assert "Challenge slow" not in out
    assert out.endswith("1. in parallel, 1 client:\n   1.1 b (force-merge)\n")


def test_a_valid_track(run, books):
    arguments = ("validate-track", f"--track-path={books}")
    assert run(*arguments) == (0, 'track "books" is valid: 2 challenges, 4 tasks\n', "")
    assert run(*arguments, "--challenge=slow")[1] == 'track "books" is valid: 1 challenge, 1 task\n'
    assert run(*arguments, "--build-flavor=serverless")[1].endswith("2 challenges, 3 tasks\n")
    assert run(*arguments, "--quiet") == (0, "", "")


def test_problems_of_all_challenges_are_told_once(run, books):
    text = (books / "track.json").read_text()
    (books / "track.json").write_text(
        text.replace('"force-merge"', '"force-mrge"').replace('"body"', '"bdy"')
    )
    code, out, err = run("validate-track", f"--track-path={books}")
    assert (code, out) == (64, "")
    assert err.startswith('error: track "books" has 2 problems\n')
    assert err.count("operations[0].body is missing") == 1
    assert 'did you mean "force-merge"?' in err


def test_a_parameter_that_nobody_reads(run, books):
    code, _, err = run("validate-track", f"--track-path={books}", "--track-params=abuot:x")
    assert code == 64
    assert '"abuot" (did you mean "about"?)' in err


def test_a_track_is_rendered(run, books, tmp_path):
    arguments = ("render-track", f"--track-path={books}", "--track-params=about:Mine")
    code, out, err = run(*arguments)
    assert (code, err) == (0, "")
    assert json.loads(out)["description"] == "Mine"
    code, nothing, err = run(*arguments, f"--output-path={tmp_path / 'out.json'}")
    assert (code, nothing) == (0, "")
    assert err == f"track books rendered to {tmp_path / 'out.json'}\n"
    assert (tmp_path / "out.json").read_text() == out


def test_a_track_that_renders_to_no_json_is_still_shown(run, books):
    (books / "track.json").write_text('{"a": {{ 1 + 1 }} 3}')
    code, out, err = run("render-track", f"--track-path={books}")
    assert (code, out) == (64, '{"a": 2 3}')
    assert err.startswith("warning: this is no valid JSON: Expecting ',' delimiter")


@pytest.mark.parametrize(
    ("text", "rendering", "reading"),
    [
        ('{"a": NaN}', "NaN is no number in JSON", "holds NaN, which is no number in JSON"),
        ("[" * 100_000, "maximum recursion depth exceeded", "nests too deeply to be read"),
    ],
)
def test_json_that_no_engine_reads(run, books, text, rendering, reading):
    (books / "track.json").write_text(text)
    code, out, err = run("render-track", f"--track-path={books}")
    assert (code, out) == (64, text)
    assert rendering in err
    code, out, err = run("info", f"--track-path={books}")
    assert (code, out) == (64, "")
    assert err == f"error: track.json rendered {reading}\n"
    assert run("list", "tracks", f"--track-path={books.parent}")[0] == 0


def test_terminals_are_not_controlled_by_tracks(run, books):
    text = (books / "track.json").read_text().replace("Mind the gap.", "\\u001b[2Jgap\\nbelow")
    text = text.replace('"name": "b"', '"name": "b\\u001b[2J"')
    (books / "track.json").write_text(text)
    _, out, _ = run("info", f"--track-path={books}")
    assert "  Note:  [2Jgap below\n" in out
    _, out, _ = run("race", f"--track-path={books}", "--dry-run", "--include-tasks=type:force-merge")
    assert "  b [2J (force-merge): 1 client" in out
    code, _, err = run("info", f"--track-path={books}", "--challenge=\x1b[2J\nslow")
    assert code == 64
    assert err.startswith('error: track "books" has no challenge " [2J slow"')


def test_secrets_stay_out_of_errors_of_rendering(run, books):
    (books / "track.json").write_text("{% include secret_word %}")
    _, _, err = run("render-track", f"--track-path={books}", "--track-params=secret_word:hunter2")
    assert 'there is no file "<hidden>" in the track\'s folder' in err


def test_a_path_stands_alone(run, books):
    code, out, err = run("list", "tracks", f"--track-path={books.parent}", "--track-revision=8")
    assert (code, out) == (2, "")
    assert err.startswith("error: give either --track-revision or --track-path, not both\n")


@pytest.mark.parametrize("command", ["info", "validate-track", "render-track", "race"])
def test_help_waits_for_nothing_slow(command):
    """Whatever reads tracks or stores races takes longer to import than the whole answer should."""
    program = (
        "import sys; from pacenote.cli.main import main; main(sys.argv[1:]); "
        "print([name for name in ('jinja2', 'sqlite3', 'pacenote.report') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, command, "--help"], capture_output=True, text=True, check=True
    )
    assert done.stdout.endswith("\n[]\n")
