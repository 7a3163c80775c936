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
    expected = f"generating http_logs …\n1,000 documents of http_logs in {tmp_path}\n"
    assert (code, out, err) == (0, "", expected)
    run("generate", "http_logs", "--docs=5")
    assert calls == [("http_logs", 1000, 7, tmp_path), ("http_logs", 5, 42, Path())]
    assert run("generate", "http_logs")[0] == 2
    assert run("generate", "http_logs", "--docs=0")[0] == 2
