"""`pacenote create-track`: its options, without a cluster."""

from __future__ import annotations

import json

import pytest

from pacenote.capture.dump import DumpedFile
from pacenote.capture.sources import BackingIndex, CaptureSource
from pacenote.capture.track_files import track_files


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--track=x"], "one of the arguments --indices --data-streams is required"),
        (["--track=x", "--indices=a", "--data-streams=b"], "not allowed with argument"),
        (["--indices=a"], "the following arguments are required: --track"),
        (["--track=../x", "--indices=a"], "--track cannot be '../x'"),
        (["--track=x", "--indices=a", "--batch-size=0"], "--batch-size"),
        (["--track=x", "--indices=,"], "--indices is empty"),
    ],
)
def test_invalid_options_of_create_track_are_rejected(run, arguments, message):
    code, out, err = run("create-track", *arguments)
    assert (code, out) == (2, "")
    assert message in err


def test_documents_are_not_written_through_a_link_of_the_working_folder(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "public").mkdir()
    (tmp_path / "tracks").symlink_to("public")
    arguments = ("create-track", "--track=mine", "--indices=a", "--target-hosts=127.0.0.1:1")
    code, _, err = run(*arguments)
    assert code == 2
    assert "tracks in the working folder is a link" in err
    # The user may name it, by the folder to which it leads.
    code, _, err = run(*arguments, f"--output-path={tmp_path / 'public'}")
    assert code != 2
    assert "is a link" not in err


def test_a_cluster_that_does_not_answer_is_an_error(run, tmp_path):
    code, _, err = run(
        *("create-track", "--track=x", "--indices=a", "--target-hosts=127.0.0.1:9"),
        f"--output-path={tmp_path}",
    )
    assert code == 64
    assert err.startswith("error: the cluster cannot be reached at ")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("timestamp", "key"), [("", "index"), ("@timestamp", "data-stream")])
def test_a_track_of_several_sources_is_valid_and_searches_all_of_them(run, tmp_path, timestamp, key):
    sources = [CaptureSource(name, (BackingIndex(name, 1),), timestamp=timestamp) for name in ("a", "b")]
    dumped = {each.name: DumpedFile(f"{each.name}.json.bz2", 1, 10, 5) for each in sources}
    for name, text in track_files("mine", sources, dumped, "green").items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    code, out, err = run("validate-track", f"--track-path={tmp_path}")
    assert (code, err) == (0, "")
    assert out.endswith(f" is valid: 1 challenge, {8 if timestamp else 6} tasks\n")
    assert json.loads((tmp_path / "operations" / "default.json").read_text())[key] == "a,b"
