"""Files that the user names are created by `system/named_file.py`, which goes where no other user leads."""

import re

from shape.sources import PACKAGE

CREATES = re.compile(
    r"\.open\(\"[awx]b?\"|\.write_(?:text|bytes)\(|\.mkdir\(|\bos\.(?:makedirs|mkdir)\(|O_CREAT"
)

ALLOWED = {
    "cli/export.py": "writes to what replaced_file yields",
}
"""Files of the commands that create files or folders → why that is safe."""


def test_only_known_modules_of_the_commands_create_files() -> None:
    creating = {
        path.relative_to(PACKAGE).as_posix()
        for path in (PACKAGE / "cli").rglob("*.py")
        if CREATES.search(path.read_text("utf-8"))
    }
    assert creating == set(ALLOWED)
