"""Files that the user names are created in one module, which goes where no other user leads."""

import re

from shape.sources import PACKAGE

CREATES = re.compile(
    r"\.open\(\"[awx]b?\"|\.write_(?:text|bytes)\(|\.mkdir\(|\bos\.(?:makedirs|mkdir)\(|O_CREAT"
)

ALLOWED = {
    "cli/experiment.py": "a file in the working folder, which is created only if its name is free",
    "cli/export.py": "writes to what replaced_file yields",
    "cli/output/export_file.py": "a new file beside the one that is named, after create_parents",
    "cli/output/named_file.py": "checks before and after",
}
"""Files of the commands that create files or folders → why that is safe."""


def test_only_known_modules_of_the_commands_create_files() -> None:
    creating = {
        path.relative_to(PACKAGE).as_posix()
        for path in (PACKAGE / "cli").rglob("*.py")
        if CREATES.search(path.read_text("utf-8"))
    }
    assert creating == set(ALLOWED)
