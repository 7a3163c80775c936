"""`pacenote generate`: its options and what it prints."""

import sys
from pathlib import Path
from types import ModuleType


def test_generate_passes_its_options_and_prints_progress(run, monkeypatch, tmp_path):
    calls = []

    def generate(name, documents, seed, output_dir, progress):
        progress("generating http_logs", documents, documents)
        calls.append((name, documents, seed, output_dir))

    module = ModuleType("pacenote.race.generated_corpora")
    module.generate = generate  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pacenote.race.generated_corpora", module)
    code, out, err = run("generate", "http_logs", "--docs=1000", "--seed=7", f"--output-path={tmp_path}")
    use = f"race with --dataset-cache={tmp_path.parent} --corpus=as-is\n"
    rename = "to use it, rename the folder to http_logs and "
    expected = f"generating http_logs …\n1,000 documents of http_logs in {tmp_path}\n"
    assert (code, out, err) == (0, "", f"{expected}{rename}{use}")
    folder = tmp_path / "http_logs"
    assert run("generate", "http_logs", "--docs=1", f"--output-path={folder}")[2].endswith(
        f"in {folder}\nrace with --dataset-cache={tmp_path} --corpus=as-is\n"
    )
    calls.pop()
    run("generate", "http_logs", "--docs=5")
    assert calls == [("http_logs", 1000, 7, tmp_path), ("http_logs", 5, 42, Path())]
    assert run("generate", "http_logs")[0] == 2
    assert run("generate", "http_logs", "--docs=0")[0] == 2


def test_a_race_uses_the_generated_files_as_the_command_says(run, tmp_path):
    _, _, err = run("generate", "http_logs", "--docs=70", f"--output-path={tmp_path / 'http_logs'}")
    options = err.splitlines()[-1].removeprefix("race with ").split()
    code, out, _ = run("race", "--track=http_logs", "--dry-run", *options)
    assert code == 0
    assert f"in {tmp_path / 'http_logs'}" in out


def test_a_folder_that_cannot_be_written_is_reported_with_the_option(run):
    code, _, err = run("generate", "http_logs", "--docs=70", "--output-path=/dev/null/x")
    assert code == 64
    assert err.startswith("error: cannot write /dev/null/x")
    assert err.endswith("hint: set --output-path to a writable folder\n")
