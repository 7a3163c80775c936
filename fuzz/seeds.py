"""Writes the initial fuzzing corpora: recorded responses, their chunks, and their compressed bodies."""

from __future__ import annotations

from pathlib import Path

HERE = Path(__file__).parent


def main() -> None:
    """Writes `corpus/TARGET/ENGINE-NAME` for every recorded response that a target can use as a seed."""
    for path in sorted(HERE.glob("seeds/*/*")):
        if path.name == "expected.json":
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


def _write(target: str, path: Path, seed: bytes) -> None:
    folder = HERE / "corpus" / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{path.parent.name}-{path.name}").write_bytes(seed)


if __name__ == "__main__":
    main()
