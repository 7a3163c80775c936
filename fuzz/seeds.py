"""Writes the initial fuzzing corpora: recorded responses, their chunks, their bodies, and what is in `kept/`.

`seeds.py keep TARGET` replaces the file in `kept/` by the corpus of the target, which `cargo fuzz cmin`
should have reduced before. The inputs of targets in `PACKED` are kept as an archive, whatever their length.
"""

from __future__ import annotations

import io
import json
import sys
import tarfile
from pathlib import Path

HERE = Path(__file__).parent
MAX_KEPT_BYTES = 80
"""Length of the longest input that is kept: longer ones are seldom needed to reach the same code."""

PACKED = {"generated_hotspot", "generated_openj9", "generated_recording", "hotspot", "recording"}
"""Targets with inputs of a thousand bytes and more."""

LOGS = {"hotspot", "recording"}
"""Folders in `seeds/` that are named after their target, and do not have responses."""


def main(arguments: list[str]) -> None:
    """Writes the corpora, or keeps one."""
    match arguments:
        case []:
            write_corpora()
        case ["keep", target]:
            keep(target)
        case _:
            sys.exit("usage: seeds.py [keep TARGET]")


def write_corpora() -> None:
    """Writes `corpus/TARGET/ENGINE-NAME` for every recorded response that a target can use as a seed, and
    `corpus/TARGET/kept-NUMBER` for every input in `kept/TARGET.lines` and `kept/TARGET.tar.xz`.
    """
    for path in sorted(HERE.glob("seeds/*/*")):
        if path.name == "expected.json":
            continue
        if path.parent.name in LOGS:
            _write(path.parent.name, path, path.read_bytes())
            continue
        response = path.read_bytes()
        head, _, body = response.partition(b"\r\n\r\n")
        _write("response", path, response)
        if b"transfer-encoding: chunked" in head:
            _write("chunked", path, body)
        elif b"content-encoding: gzip" in head and body:
            _write("gzip", path, body)
            # The deflated data alone: the header and trailer that engines write have a fixed length.
            _write("gzip", path.with_name(f"{path.name}-deflated"), body[10:-8])
        elif body.startswith((b"{", b"[")):
            _write("json_scan", path, body)
    for path in sorted(HERE.glob("kept/*.lines")):
        for number, line in enumerate(path.read_text("utf-8").splitlines()):
            _write(path.stem, Path("kept") / str(number), json.loads(line).encode("latin-1"))
    for target in sorted(PACKED):
        with tarfile.open(HERE / "kept" / f"{target}.tar.xz") as archive:
            for member in archive:
                if content := archive.extractfile(member):
                    _write(target, Path("kept") / member.name, content.read())


def keep(target: str) -> None:
    """Writes the short inputs of a corpus to `kept/TARGET.lines`: each line is a JSON string in which every
    character stands for one byte.
    """
    inputs = {path.read_bytes() for path in (HERE / "corpus" / target).iterdir()}
    if target in PACKED:
        _pack(target, sorted(inputs, key=lambda found: (len(found), found)))
        return
    short = sorted(
        (found for found in inputs if len(found) <= MAX_KEPT_BYTES), key=lambda found: (len(found), found)
    )
    lines = [json.dumps(found.decode("latin-1")) + "\n" for found in short]
    (HERE / "kept" / f"{target}.lines").write_text("".join(lines), "utf-8")


def _pack(target: str, inputs: list[bytes]) -> None:
    with tarfile.open(HERE / "kept" / f"{target}.tar.xz", "w:xz") as archive:
        for number, content in enumerate(inputs):
            member = tarfile.TarInfo(str(number))
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))


def _write(target: str, path: Path, seed: bytes) -> None:
    folder = HERE / "corpus" / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{path.parent.name}-{path.name}").write_bytes(seed)


if __name__ == "__main__":
    main(sys.argv[1:])
