"""One module decides what is written to CSV, so that no text is a formula there."""

from shape.sources import PACKAGE

HOME = PACKAGE / "model" / "output_text.py"


def test_csv_is_written_in_one_place():
    texts = {path: path.read_text("utf-8") for path in PACKAGE.rglob("*.py")}
    assert "csv.writer(" in texts.pop(HOME)
    assert [path.name for path, text in texts.items() if "csv.writer(" in text or "DictWriter(" in text] == []


def test_printed_json_is_escaped():
    folders = ("report", "cli")
    texts = {path: path.read_text("utf-8") for name in folders for path in (PACKAGE / name).rglob("*.py")}
    printed = [path.name for path, text in texts.items() if "ensure_ascii=False, indent" in text]
    assert len(texts) > 100
    assert printed == []
