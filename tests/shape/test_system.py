"""What the kernel gives is asked for in one package, so that its pitfalls are met once."""

import re

import pytest

from shape.sources import PACKAGE

HOMES = {
    r"\bflock\(": {"system/locks.py"},
    r"\bprctl\b.*\bCDLL\b|\bCDLL\b.*\bprctl\b": {"system/prctl.py"},
    r"\bpidfd_send_signal\(": {"system/process.py", "provision/control_groups.py"},
    r"/stat\"\).read_text": {"system/process.py"},
    r"\bselect\.(poll|select|epoll)\(": {"system/polling.py"},
    # Path.resolve of Python before 3.13 raises RuntimeError for links that lead to each other.
    r"(?<!resolver)\.resolve\(": set[str](),
}
"""Call to the kernel → the files that make it; none if it has a replacement. A member of a control group is
known by its group, not by an identity.
"""


@pytest.mark.parametrize("call", HOMES)
def test_a_call_to_the_kernel_has_one_home(call: str) -> None:
    files = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if re.search(call, path.read_text("utf-8"))
    }
    assert files == HOMES[call]
