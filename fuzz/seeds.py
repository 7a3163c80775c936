"""Makes the corpora to begin with of the recorded replies: whole, their chunks, their compressed bodies."""

from __future__ import annotations

from pathlib import Path

HERE = Path(__file__).parent


def main() -> None:
    """Writes `corpus/TARGET/ENGINE-NAME` for every recorded reply that the target can begin with."""
    for path in sorted(HERE.glob("seeds/*/*")):
        if path.name == "expected.json":
            continue
        reply = path.read_bytes()
        head, _, body = reply.partition(b"\r\n\r\n")
        _write("reply", path, reply)
        if b"transfer-encoding: chunked" in head:
            _write("chunked", path, body)
        elif b"content-encoding: gzip" in head and body:
            _write("gzip", path, body)
            # The deflated data alone: header and trailer of what engines write have a fixed length.
            _write("gzip", path.with_name(f"{path.name}-deflated"), body[10:-8])


def _write(target: str, path: Path, seed: bytes) -> None:
    folder = HERE / "corpus" / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{path.parent.name}-{path.name}").write_bytes(seed)


if __name__ == "__main__":
    main()
