"""The data of a race is found, downloaded, unpacked, counted or generated, with real files."""

from __future__ import annotations

import bz2
import dataclasses
import gzip
import json
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pacenote.errors import CorpusError, DiskError
from pacenote.model.race_request import CorpusChoice, RaceRequest
from pacenote.race.corpora import PreparedCorpora, prepare_corpora
from pacenote.race.generated_corpora import generate
from pacenote.track.load import load_track
from pacenote.track.render import RenderOptions
from pacenote.track.source import open_track
from support.corpora import in_test_mode
from support.file_server import FileServer, file_server


class Folder:
    """A track with one data file, and Pacenote's home folder."""

    def __init__(self, tmp_path: Path) -> None:
        self.track = tmp_path / "tiny"
        self.home = tmp_path / "home"
        self.data = self.home / "corpora" / "notes"
        self.track.mkdir()
        self.data.mkdir(parents=True)
        self.labels: list[str] = []
        self.name = "notes"
        self.generator: dict[str, object] = {}
        self.more: list[dict[str, object]] = []
        self.allow_outside_paths = False
        self.track_params: dict[str, object] = {}
        self.dataset_cache: Path | None = None

    def prepare(
        self,
        documents: dict[str, object],
        choice: CorpusChoice | None = None,
        *,
        test_mode: bool = False,
        offline: bool = False,
        mirrors: tuple[str, ...] = (),
    ) -> PreparedCorpora:
        generator = {"generator": self.generator} if self.generator else {}
        track = {
            "version": 2,
            "indices": [{"name": "notes"}],
            "corpora": [{"name": self.name, "documents": [documents, *self.more], **generator}],
            "schedule": [{"operation": {"operation-type": "bulk", "bulk-size": 10}}],
        }
        file, text = self.track / "track.json", json.dumps(track)
        # Other processes may be reading it.
        if not file.exists() or file.read_text() != text:
            file.write_text(text)
        loaded = load_track(open_track(self.track), {}, RenderOptions(now=0))
        if test_mode:
            loaded = dataclasses.replace(loaded, corpora=tuple(map(in_test_mode, loaded.corpora)))
        request = RaceRequest(
            race_id="r",
            home=self.home,
            track_path=self.track,
            corpus=choice,
            offline=offline,
            corpus_mirrors=mirrors,
            allow_outside_paths=self.allow_outside_paths,
            track_params=self.track_params,
            dataset_cache=self.dataset_cache,
        )

        def progress(label: str, done: int, total: int) -> None:
            self.labels.append(label)

        return prepare_corpora(loaded, loaded.challenge(None), request, progress)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def lines(count: int) -> bytes:
    return b"".join(b'{"n": %d}\n' % number for number in range(count))


def single(prepared: PreparedCorpora) -> tuple[str, Path, int]:
    ((_, file),) = prepared.files.items()
    (used,) = prepared.recorded
    assert used.documents == file.documents
    assert used.bytes == file.path.stat().st_size
    return used.origin, file.path, file.documents


def test_a_file_that_matches_its_declaration_is_used(folder: Folder) -> None:
    (folder.data / "notes.json").write_bytes(lines(25))
    prepared = single(folder.prepare({"source-file": "notes.json.bz2", "document-count": 25}))
    assert prepared == ("declared", folder.data / "notes.json", 25)


@pytest.mark.parametrize(("ending", "packed"), [(".gz", gzip.compress), (".bz2", bz2.compress)])
def test_an_archive_is_unpacked_once(folder: Folder, ending: str, packed) -> None:
    archive = folder.data / f"notes.json{ending}"
    archive.write_bytes(packed(lines(25)))
    documents = {"source-file": "notes.json.bz2", "document-count": 25}
    assert single(folder.prepare(documents)) == ("declared", folder.data / "notes.json", 25)
    archive.write_bytes(b"no longer an archive")
    assert single(folder.prepare(documents))[2] == 25


@pytest.mark.parametrize("packed", [False, True])
def test_data_in_pacenotes_home_is_used_if_another_folder_has_none(
    folder: Folder, tmp_path: Path, *, packed: bool
) -> None:
    file = folder.data / ("notes.json.gz" if packed else "notes.json")
    file.write_bytes(gzip.compress(lines(25)) if packed else lines(25))
    folder.dataset_cache = tmp_path / "rally"
    documents = {"source-file": "notes.json.bz2", "document-count": 25}
    for _ in range(2):
        _, path, count = single(folder.prepare(documents, offline=True))
        # What is unpacked, and the offset table, are in the other folder.
        assert (path.is_relative_to(folder.dataset_cache), count) == (True, 25)
        assert list(folder.data.iterdir()) == [file]
    (folder.dataset_cache / "notes" / "notes.json").write_bytes(lines(25) + b"{}\n")
    with pytest.raises(CorpusError, match=f"{folder.dataset_cache}.* holds 26 documents"):
        folder.prepare(documents, offline=True)


def test_the_tracks_own_folder_is_searched_first(folder: Folder) -> None:
    (folder.data / "notes.json").write_bytes(lines(25))
    (folder.track / "notes.json").write_bytes(lines(7))
    origin, path, count = single(folder.prepare({"source-file": "notes.json"}))
    assert (origin, path.resolve(), count) == ("as-is", folder.track / "notes.json", 7)


def test_archives_with_the_same_name_are_distinguished(folder: Folder) -> None:
    # Left by another track whose corpus has the same name.
    (folder.data / "notes.json").write_bytes(lines(7))
    (folder.track / "notes.json.gz").write_bytes(gzip.compress(lines(25)))
    assert single(folder.prepare({"source-file": "notes.json.gz"}))[2] == 25
    for name, count in (("a", 3), ("b", 4)):
        (folder.data / name).mkdir()
        (folder.data / name / "n.json.gz").write_bytes(gzip.compress(lines(count)))
        assert single(folder.prepare({"source-file": f"{name}/n.json.gz"}))[2] == count


def test_a_file_that_is_indexed_into_several_indices_is_counted_once(folder: Folder) -> None:
    (folder.data / "notes.json").write_bytes(lines(25))
    documents = {"source-file": "notes.json", "document-count": 25}
    folder.more = [documents | {"target-index": "copies"}]
    assert single(folder.prepare(documents | {"target-index": "notes"}))[2] == 25


def test_a_wrong_number_of_documents_is_rejected_unless_used_as_is(folder: Folder) -> None:
    (folder.data / "notes.json").write_bytes(lines(25))
    documents = {"source-file": "notes.json", "document-count": 1_000}
    with pytest.raises(
        CorpusError, match=r"notes\.json holds 25 documents, but the track declares 1,000"
    ) as caught:
        folder.prepare(documents)
    assert "--corpus=as-is" in caught.value.hint
    assert single(folder.prepare(documents, "as-is")) == ("as-is", folder.data / "notes.json", 25)


def test_a_wrong_number_of_documents_names_the_users_own_file(folder: Folder) -> None:
    file = folder.track / "notes.json"
    file.write_bytes(lines(25))
    with pytest.raises(CorpusError) as caught:
        folder.prepare({"source-file": "notes.json", "document-count": 1_000})
    assert caught.value.message == f"{file} holds 25 documents, but the track declares 1,000"


@pytest.mark.parametrize(("key", "size"), [("uncompressed-bytes", 190), ("compressed-bytes", 80)])
def test_a_wrong_size_is_rejected_unless_used_as_is_and_nothing_is_deleted(
    folder: Folder, key: str, size: int
) -> None:
    name = "notes.json.gz" if key == "compressed-bytes" else "notes.json"
    file = folder.data / name
    file.write_bytes(gzip.compress(lines(25), mtime=0) if name.endswith(".gz") else lines(25))
    documents = {"source-file": "notes.json.gz", "document-count": 25, key: size + 1}
    with pytest.raises(
        CorpusError, match=rf"{name} has \d+ bytes, but the track declares {size + 1}"
    ) as caught:
        folder.prepare(documents)
    assert "--corpus=as-is" in caught.value.hint
    assert file.exists()
    assert single(folder.prepare(documents, "as-is"))[2] == 25


def test_unpacking_stops_at_the_declared_size(folder: Folder) -> None:
    (folder.data / "notes.json.gz").write_bytes(gzip.compress(lines(50_000)))
    documents = {"source-file": "notes.json.gz", "document-count": 25, "uncompressed-bytes": 1_000}
    with pytest.raises(CorpusError, match=r"notes\.json"):
        folder.prepare(documents)
    assert not (folder.data / "notes.json").exists()


def test_a_full_disk_is_reported_before_unpacking(folder: Folder) -> None:
    (folder.data / "notes.json.gz").write_bytes(gzip.compress(lines(25)))
    with pytest.raises(DiskError, match=r"no room for notes\.json: it needs 909494\.7 TiB"):
        folder.prepare({"source-file": "notes.json.gz", "uncompressed-bytes": 10**18})


@pytest.fixture
def server() -> Iterator[FileServer]:
    with file_server() as running:
        yield running


def test_a_missing_file_is_downloaded_once(folder: Folder, server: FileServer) -> None:
    server.content = gzip.compress(lines(25))
    documents = {"source-file": "notes.json.gz", "document-count": 25, "base-url": f"{server.url}/notes"}
    assert single(folder.prepare(documents)) == ("declared", folder.data / "notes.json", 25)
    assert folder.labels[0] == "downloading notes.json.gz"
    folder.prepare(documents)
    assert [request.target for request in server.requests] == ["/notes/notes.json.gz"]


def test_a_source_url_is_used_unchanged(folder: Folder, server: FileServer) -> None:
    server.content = lines(25)
    documents = {"source-file": "notes.json", "document-count": 25, "source-url": f"{server.url}/there/other"}
    assert single(folder.prepare(documents))[1] == folder.data / "notes.json"
    assert [request.target for request in server.requests] == ["/there/other"]


def test_the_checksum_from_google_cloud_storage_is_verified(folder: Folder, server: FileServer) -> None:
    server.content = b"123456789\n"
    server.headers = {"x-goog-hash": "crc32c=AAAAAA=="}
    with pytest.raises(CorpusError, match=r"wrong checksum: crc32c [0-9a-f]{8} instead of 00000000"):
        folder.prepare({"source-file": "notes.json", "base-url": server.url})


def test_concurrent_races_download_once(folder: Folder, server: FileServer) -> None:
    server.content = gzip.compress(lines(2_000))
    documents = {"source-file": "notes.json.gz", "document-count": 2_000, "base-url": server.url}
    with pytest.raises(CorpusError):
        folder.prepare(documents, offline=True)
    with ThreadPoolExecutor(4) as pool:
        prepared = [future.result() for future in [pool.submit(folder.prepare, documents) for _ in range(4)]]
    assert {single(each)[2] for each in prepared} == {2_000}
    assert len(server.requests) == 1


def test_a_mirror_is_tried_before_the_base_url(folder: Folder, server: FileServer) -> None:
    server.content = lines(25)
    documents = {"source-file": "notes.json", "document-count": 25, "base-url": "http://127.0.0.1:9/notes"}
    assert single(folder.prepare(documents, mirrors=(f"{server.url}/m",)))[2] == 25
    assert [request.target for request in server.requests] == ["/m/notes/notes.json"]


def test_the_error_when_offline_names_the_folder_for_the_file(folder: Folder, server: FileServer) -> None:
    documents = {"source-file": "notes.json.bz2", "document-count": 25, "base-url": server.url}
    message = r"notes\.json\.bz2 of corpus 'notes' is missing, and --offline forbids downloading it"
    with pytest.raises(CorpusError, match=message) as caught:
        folder.prepare(documents, offline=True)
    assert caught.value.hint == f"put it into {folder.data}"
    assert server.requests == []


def test_the_error_about_a_failed_download_names_the_alternatives(folder: Folder, server: FileServer) -> None:
    server.has = lambda path: False
    with pytest.raises(
        CorpusError, match=r"corpus 'notes': notes\.json cannot .*: HTTP status 404"
    ) as caught:
        folder.prepare({"source-file": "notes.json", "base-url": server.url})
    assert str(folder.data) in caught.value.hint


def test_a_corpus_with_a_generator_is_downloaded_only_on_request(folder: Folder, server: FileServer) -> None:
    server.content = lines(25)
    folder.generator = {"name": "http_logs", "documents": 700}
    documents = {"source-file": "documents-181998.json", "document-count": 25, "base-url": server.url}
    assert single(folder.prepare(documents))[0] == "generated"
    assert server.requests == []
    assert single(folder.prepare(documents, "declared"))[0] == "declared"
    assert len(server.requests) == 1


def test_test_mode_downloads_the_small_file_or_uses_an_alternative(
    folder: Folder, server: FileServer
) -> None:
    server.content = lines(1_000)
    documents = {"source-file": "notes.json", "document-count": 1_500, "base-url": server.url}
    assert single(folder.prepare(documents, test_mode=True))[0] == "declared"
    assert [request.target for request in server.requests] == ["/notes-1k.json"]
    (folder.data / "notes-1k.json").unlink()
    server.has = lambda path: False
    with pytest.raises(CorpusError, match="HTTP status 404"):
        folder.prepare(documents, test_mode=True)
    (folder.data / "notes.json").write_bytes(lines(1_500))
    assert single(folder.prepare(documents, test_mode=True))[0] == "excerpt"
    folder.name = "http_logs"
    documents["source-file"] = "documents-181998.json"
    # The files that the first race has generated do not hide that the others are missing.
    for _ in range(2):
        generated = folder.prepare(documents, test_mode=True)
        (warning,) = generated.warnings
        assert single(generated)[0] == "generated"
        assert warning.startswith(
            "corpus 'http_logs': documents-181998-1k.json cannot be downloaded: http://127.0.0.1:"
        )
        assert warning.endswith("HTTP status 404; documents are generated")
    assert folder.prepare(documents, "generated", test_mode=True).warnings == ()
    folder.generator = {"name": "http_logs", "documents": 700}
    assert folder.prepare(documents, test_mode=True).warnings == ()


@pytest.mark.parametrize(("ending", "packed"), [("", bytes), (".gz", gzip.compress), (".bz2", bz2.compress)])
def test_test_mode_uses_the_beginning_of_the_full_file(folder: Folder, ending: str, packed) -> None:
    (folder.data / f"notes.json{ending}").write_bytes(packed(lines(1_500)))
    documents = {"source-file": "notes.json.bz2", "document-count": 1_500, "compressed-bytes": 1}
    origin, path, count = single(folder.prepare(documents, test_mode=True))
    assert (origin, path.name, count) == ("excerpt", "notes-1k.json", 1_000)
    assert path.read_bytes() == lines(1_000)
    # The excerpt must not be confused with the small file that the track's authors publish.
    assert path.parent.parent == folder.data
    assert single(folder.prepare(documents, test_mode=True))[1] == path
    (folder.data / "notes-1k.json").write_bytes(lines(1_000))
    assert single(folder.prepare(documents, test_mode=True))[0] == "declared"


def test_test_mode_writes_no_file_next_to_the_users_own_file(folder: Folder, tmp_path: Path) -> None:
    file = tmp_path / "first-steps" / "notes.json"
    file.parent.mkdir()
    file.write_bytes(b"".join(b'{"index": {}}\n{"n": %d}\n' % number for number in range(1_500)))
    documents = {"source-file": str(file), "document-count": 1_500, "includes-action-and-meta-data": True}
    folder.allow_outside_paths = True
    assert single(folder.prepare(documents))[0] == "declared"
    origin, path, count = single(folder.prepare(documents, test_mode=True))
    assert (origin, path.parent.parent, count) == ("excerpt", folder.data, 1_000)
    assert path.read_bytes() == b"".join(file.read_bytes().splitlines(keepends=True)[:2_000])
    assert not file.with_name("notes-1k.json").exists()


def test_test_mode_reports_a_damaged_full_file(folder: Folder) -> None:
    (folder.data / "notes.json.gz").write_bytes(gzip.compress(lines(1_500))[:200])
    with pytest.raises(CorpusError, match=r"notes\.json\.gz cannot be read"):
        folder.prepare({"source-file": "notes.json.gz", "document-count": 1_500}, test_mode=True)


def test_a_document_with_an_action_line_occupies_two_lines(folder: Folder) -> None:
    (folder.data / "notes.json").write_bytes(lines(50))
    documents = {"source-file": "notes.json", "document-count": 25, "includes-action-and-meta-data": True}
    assert single(folder.prepare(documents))[2] == 25


def test_an_error_about_missing_data_names_the_folder_for_it(folder: Folder) -> None:
    with pytest.raises(CorpusError, match=r"notes\.json\.zst of corpus 'notes' is missing") as caught:
        folder.prepare({"source-file": "notes.json.zst", "document-count": 25})
    assert str(folder.data) in caught.value.hint
    with pytest.raises(CorpusError, match=r"\./none\.json of corpus"):
        folder.prepare({"source-file": "./none.json"})


def test_a_folder_in_place_of_the_users_file_is_an_error(
    folder: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    with pytest.raises(CorpusError, match=r"^\./mine of corpus 'notes' is a folder$"):
        folder.prepare({"source-file": "./mine"})


@pytest.mark.parametrize(
    ("content", "accepted"),
    [
        (b'{"a": 1}\nnot checked\n', True),
        (b"", True),
        (b"127.0.0.1 - GET /\n", False),
        (b"[\n{}\n]\n", False),
    ],
)
def test_the_first_line_of_the_users_file_must_be_json(
    folder: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, accepted: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "access.json.gz").write_bytes(gzip.compress(content))
    documents: dict[str, object] = {"source-file": "./access.json.gz"}
    folder.allow_outside_paths = True
    if accepted:
        assert single(folder.prepare(documents))[2] == content.count(b"\n")
        return
    with pytest.raises(
        CorpusError, match=r"^line 1 of \./access\.json\.gz is not a JSON document$"
    ) as caught:
        folder.prepare(documents)
    assert caught.value.hint.startswith("the file must have one JSON document per line")


@pytest.mark.parametrize("damaged", [gzip.compress(lines(5000))[:-40], b"not gzip at all"])
def test_a_damaged_archive_is_named_and_leaves_no_files(folder: Folder, damaged: bytes) -> None:
    (folder.data / "notes.json.gz").write_bytes(damaged)
    with pytest.raises(CorpusError, match=r"notes\.json\.gz"):
        folder.prepare({"source-file": "notes.json.gz", "document-count": 5000})
    left = [path.name for path in folder.data.iterdir() if path.name != ".lock"]
    assert left == ["notes.json.gz"]


def test_generating_a_corpus_without_a_generator_is_an_error(tmp_path: Path, folder: Folder) -> None:
    with pytest.raises(CorpusError, match="no generator for 'poems'"):
        generate("poems", 5, 1, tmp_path, lambda *_: None)
    with pytest.raises(CorpusError, match="corpus 'notes' cannot be generated"):
        folder.prepare({"source-file": "notes.json"}, "generated")


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """A file that is in no folder of the race."""
    path = tmp_path / "elsewhere" / "secret.json"
    path.parent.mkdir()
    path.write_bytes(lines(3))
    return path


@pytest.mark.parametrize("name", ["../elsewhere/secret.json", "{path}", "a/../../elsewhere/secret.json"])
def test_a_source_file_outside_of_all_folders_is_refused(
    folder: Folder, secret: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder.track / "a").mkdir()
    monkeypatch.chdir(folder.track)
    documents: dict[str, object] = {"source-file": name.format(path=secret)}
    with pytest.raises(CorpusError, match=f"leads to {secret}, outside of the folders") as caught:
        folder.prepare(documents)
    assert "--allow-outside-paths" in caught.value.hint
    assert [path.name for path in secret.parent.iterdir()] == ["secret.json"]
    folder.allow_outside_paths = True
    assert single(folder.prepare(documents))[2] == 3
    # The offset table is in the data folder.
    assert [path.name for path in secret.parent.iterdir()] == ["secret.json"]
    assert [path.name for path in folder.home.rglob("*.offset")] == ["secret.json.offset"]


def test_the_current_folder_is_not_open_to_a_track(
    folder: Folder, secret: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("./elsewhere/secret.json", str(secret)):
        with pytest.raises(CorpusError, match="outside of the folders"):
            folder.prepare({"source-file": name})


def test_a_path_that_the_user_typed_as_a_track_parameter_may_lead_anywhere(
    folder: Folder, secret: Path
) -> None:
    folder.track_params = {"corpus_file": str(secret), "bulk_size": 10}
    assert single(folder.prepare({"source-file": str(secret)}))[2] == 3
    with pytest.raises(CorpusError, match="outside of the folders"):
        folder.prepare({"source-file": str(secret.parent / "." / ".." / "elsewhere" / "secret.json")})


def test_a_link_in_the_tracks_folder_that_leads_out_of_it_is_refused(folder: Folder, secret: Path) -> None:
    documents: dict[str, object] = {"source-file": "notes.json"}
    (folder.track / "notes.json").symlink_to(secret)
    with pytest.raises(CorpusError, match="outside of the folders"):
        folder.prepare(documents)
    (folder.track / "notes.json").unlink()
    (folder.track / "sub").symlink_to(secret.parent)
    with pytest.raises(CorpusError, match="outside of the folders"):
        folder.prepare({"source-file": "sub/secret.json"})
    (folder.track / "own.json").write_bytes(lines(4))
    (folder.track / "notes.json").symlink_to("own.json")
    assert single(folder.prepare(documents))[2] == 4
    assert not list(folder.track.rglob("*.offset"))


def test_links_that_the_user_put_into_the_data_folder_are_followed(folder: Folder, secret: Path) -> None:
    (folder.data / "notes.json").symlink_to(secret)
    documents: dict[str, object] = {"source-file": "notes.json"}
    assert single(folder.prepare(documents)) == ("as-is", folder.data / "notes.json", 3)
    assert [path.name for path in secret.parent.iterdir()] == ["secret.json"]
    # A link to a folder does not make the paths before it available.
    (folder.data / "disk").symlink_to(secret.parent / "deep")
    (secret.parent / "deep").mkdir()
    with pytest.raises(CorpusError, match="outside of the folders"):
        folder.prepare({"source-file": "disk/../secret.json"})


def test_a_changed_file_of_the_track_gets_a_new_offset_table(folder: Folder) -> None:
    for count in (5, 6):
        (folder.track / "notes.json").write_bytes(lines(count))
        assert single(folder.prepare({"source-file": "notes.json"}))[2] == count


def test_changed_generated_data_is_refused_before_the_race(folder: Folder) -> None:
    folder.generator = {"name": "http_logs", "documents": 100}
    documents: dict[str, object] = {"source-file": "documents-241998.json.bz2", "document-count": 100}
    prepared = folder.prepare(documents, "generated")
    prepared.verify()
    _, path, _ = single(prepared)
    status, data = path.stat(), path.read_bytes()
    path.write_bytes(data.replace(b"1", b"2", 1))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    with pytest.raises(CorpusError, match="was changed since it was generated"):
        folder.prepare(documents, "generated").verify()
