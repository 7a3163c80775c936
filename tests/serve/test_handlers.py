"""Pages show what the store has; names from outside are only names."""

import os
import shutil
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import quote

import pytest
from msgspec.structs import replace

from pacenote.model.race_record import RecordedCluster, RecordedTrack
from pacenote.serve import race_files
from pacenote.store.annotations import Annotation, AnnotationStore
from pacenote.store.experiment_store import NOISE, ExperimentStore
from report.render.test_flame_graph import HOSTILE, Page
from support.records import BEGAN, bulk, record


def links(text: str, tag: str = "a", name: str = "href") -> list[str]:
    return [
        attributes[name] for found, attributes in Page(text).elements if found == tag and name in attributes
    ]


def fill(site, count):
    for number in range(count):
        site.store.create(record(f"race-{number:03}", timestamp=BEGAN.replace(minute=number % 60)))


def test_the_list_shows_the_newest_races_and_a_search(site):
    site.store.create(record("old", user_tags={"disk": "local ssd"}))
    site.store.create(record("new", timestamp=BEGAN.replace(year=2027), tasks=(bulk(),)))
    text = site.page()
    assert text.index("2027-03-01") < text.index("2026-03-01")
    assert "12,346 docs/s" in text
    (tag,) = (link for link in links(text) if "disk" in link)
    filtered = site.page(tag.removeprefix(site.root))
    assert "1 race found" in filtered
    assert "2027" not in filtered
    assert 'value="&quot;disk=local ssd&quot;"' in filtered
    assert "No race matches" in site.page("?search=nothing+like+this")


def test_an_empty_store_says_how_to_run_a_race(site):
    assert "There are no races yet" in site.page()


@pytest.mark.parametrize(
    ("path", "status"),
    [
        (f"?search={'+'.join(['word'] * 1200)}", 422),
        (f"?search={'+'.join(['w'] * 250)}", 200),
        ("?search=%00&page=%00", 200),
        ("?search=%ed%a0%80%ff", 200),
        (f"?page={'9' * 5000}", 200),
        ("race/%00", 404),
        (f"race/{'x' * 5000}", 404),
        ("race/race-1/files/%00", 404),
        (f"race/race-1/files/{'x/' * 2000}x", 404),
        ("race/race-1/notes%00", 404),
        (f"compare?{'&'.join(['baseline=%00'] * 500)}", 404),
    ],
)
def test_hostile_addresses_are_refused_in_words(site, path, status):
    site.store.create(record("race-1"))
    response, text = site.get(path)
    assert response.status == status, text
    assert site.warnings == []


def test_a_race_that_cannot_be_read_hides_no_other_race(site):
    fill(site, 2)
    text = (site.store.races / "race-000" / "race.json").read_text()
    changes = {
        "year-1": text.replace("20260301T", "00010101T"),
        "year-9999": text.replace("20260301T", "99991231T"),
        "surrogate": text.replace("http_logs", "\\ud800"),
        "deep": "[" * 100_000,
        "binary": "\0\x1b[31m",
    }
    for name, changed in changes.items():
        (site.store.races / name).mkdir()
        (site.store.races / name / "race.json").write_text(changed)
    page = site.page()
    assert all(name in page for name in ("race-000", "race-001", *changes))
    assert page.count("unreadable") >= len(changes) - 1


def test_pages_of_the_list_keep_the_selection(site):
    fill(site, 60)
    first = site.page("?baseline=race-001&contender=race-059")
    assert "page 1 of 2" in first
    boxes = [each for tag, each in Page(first).elements if tag == "input" and "checked" in each]
    assert {(box["name"], box["value"]) for box in boxes} == {
        ("baseline", "race-001"),
        ("contender", "race-059"),
    }
    second = site.page("?page=2&contender=race-059&search=http")
    boxes = [each for tag, each in Page(second).elements if tag == "input" and "checked" in each]
    assert [(box["name"], box["value"]) for box in boxes] == [("contender", "race-059")]
    for number in ("0", "-1", "x", "9" * 30, "²"):
        assert "page 1 of 2" in site.page(f"?page={quote(number)}")


def test_a_race_shows_its_stored_report_and_otherwise_makes_one(site):
    folder = site.store.create(record())
    assert links(site.page("race/race-1"), "iframe", "src") == [f"{site.root}race/race-1/report.html"]
    assert site.page("race/race-1/report.html") == "<p>made for race-1</p>"
    assert site.maker.made == ["race-1"]
    assert not folder.page.exists()
    folder.write_page("<p>stored</p>")
    assert site.page("race/race-1/report.html") == "<p>stored</p>"
    folder.write(replace(record(), tasks=(bulk(),)))
    os.utime(folder.page, (0, 0))
    assert site.page("race/race-1/report.html") == "<p>made for race-1</p>"
    assert site.maker.made == ["race-1"] * 2


def test_the_page_with_the_frame_does_not_read_the_report(site):
    folder = site.store.create(record())
    folder.finish(record())
    # Too large to be read, so that one would be made instead.
    folder.page.touch()
    os.truncate(folder.page, 1 << 30)
    assert len(links(site.page("race/race-1"), "iframe", "src")) == 1
    assert site.maker.made == []
    assert site.page("race/race-1/report.html") == "<p>made for race-1</p>"


def test_a_running_race_has_no_report(site):
    race = record("running", complete=False)
    folder = site.store.create(race)
    response, text = site.get("race/running/report.html")
    assert response.status == 422
    assert "the race is still running" in text
    assert site.maker.made == []
    folder.finish(replace(race, complete=True))
    assert site.page("race/running/report.html") == "<p>made for running</p>"


def test_a_race_without_a_report_says_why(site):
    site.store.create(record("broken"))
    text = site.page("race/broken")
    assert "it has no page" in text
    assert "look elsewhere" in text
    assert f"{site.root}race/broken/files" in links(text)


def test_a_damaged_record_still_has_files(site):
    folder = site.store.create(record())
    folder.race_json.write_text("{")
    assert "unreadable" in site.page("race/race-1")
    assert site.page("race/race-1/files/race.json") == "{"


def test_files_in_the_folder_can_be_downloaded_and_nothing_else(site):
    folder = site.store.create(record())
    (folder.artifacts / "node-0").mkdir()
    (folder.artifacts / "node-0" / "gc log%2F.log").write_text("<b>pause</b>")
    outside = site.store.home / "secret"
    outside.write_text("secret")
    (folder.path / "link.json").symlink_to(outside)
    (folder.path / "linked").symlink_to(site.store.home)
    os.mkfifo(folder.path / "pipe")
    folder.finish(record())
    shown = [
        link.removeprefix(site.root) for link in links(site.page("race/race-1/files")) if "/files/" in link
    ]
    assert shown == ["race/race-1/files/race.json", "race/race-1/files/artifacts/node-0/gc%20log%252F.log"]
    response, text = site.get(shown[1])
    assert text == "<b>pause</b>"
    assert response.headers["Content-Disposition"] == "attachment"
    assert response.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert response.headers["Content-Security-Policy"].startswith("sandbox;")


@pytest.mark.parametrize(
    "path",
    [
        *("race-1/files/link.json", "race-1/files/linked/secret", "race-1/files/.race.json.reserved"),
        *(
            "race-1/files/../race.json",
            "race-1/files/..%2f..%2f..%2fsecret",
            "race-1/files/%2e%2e/%2e%2e/secret",
        ),
        *(
            "race-1/files//etc/passwd",
            "race-1/files/artifacts",
            "race-1/files/race.json%00",
            "race-1/files/%ff",
        ),
        *("..%2frace-1", "%2e%2e", ".", "..%2f..%2fhome", "latest", "race", "%2fetc", "index.sqlite", "%00"),
        *("../../../../etc/passwd", "race-1/../../secret", "x" * 400, "%F0%9F%98%80", "<script>"),
    ],
)
def test_no_path_leads_out_of_the_folder_of_a_race(site, path):
    folder = site.store.create(record())
    (site.store.home / "secret").write_text("secret")
    (folder.path / "link.json").symlink_to(site.store.home / "secret")
    (folder.path / "linked").symlink_to(site.store.home)
    response, text = site.get(f"race/{path}")
    assert response.status in (404, 400), text
    assert "secret" not in text.replace("race-1/../../secret", "")
    assert "<script>" not in text


def test_a_download_is_the_listed_file_and_not_its_compressed_neighbour(site):
    folder = site.store.create(record())
    (folder.path / "x.log").write_text("0123456789")
    for suffix in (".gz", ".br"):
        (folder.path / f"x.log{suffix}").write_text("another file")
    response, text = site.get("race/race-1/files/x.log", **{"Accept-Encoding": "gzip, br"})
    assert (response.status, text) == (200, "0123456789")
    assert response.getheader("Content-Encoding") is None
    response, text = site.get("race/race-1/files/x.log", Range="bytes=2-4")
    assert (response.status, text, response.getheader("Content-Range")) == (206, "234", "bytes 2-4/10")
    response, text = site.get("race/race-1/files/x.log", **{"If-None-Match": response.headers["ETag"]})
    assert (response.status, text) == (304, "")
    assert site.get("race/race-1/files/x.log", Range="bytes=10-")[0].status == 416
    assert site.get("race/race-1/files/x.log.gz", **{"Accept-Encoding": "gzip"})[1] == "another file"


def test_a_file_that_becomes_a_link_after_it_was_listed_is_not_sent(site, tmp_path, monkeypatch):
    folder = site.store.create(record())
    (tmp_path / "secret").write_text("secret")
    for name in ("file", "folder"):
        (folder.path / f"artifacts-{name}").mkdir()
        (folder.path / f"artifacts-{name}" / "secret").write_text("log")
    listed = [folder_file.name for folder_file in race_files.folder_files(folder.path)]
    files = list(race_files._files(folder.path, "", 4))
    monkeypatch.setattr(race_files, "_files", lambda *_: iter(files))
    (folder.path / "artifacts-file/secret").unlink()
    (folder.path / "artifacts-file/secret").symlink_to(tmp_path / "secret")
    shutil.rmtree(folder.path / "artifacts-folder")
    (folder.path / "artifacts-folder").symlink_to(tmp_path)
    for name in ("file", "folder"):
        assert f"artifacts-{name}/secret" in listed
        response, text = site.get(f"race/race-1/files/artifacts-{name}/secret")
        assert response.status == 404
        assert "this race has no such file" in text


def test_names_from_outside_never_become_markup(site):
    site.store.create(
        record(
            "hostile",
            track=RecordedTrack(HOSTILE),
            challenge=HOSTILE,
            car=(HOSTILE,),
            user_tags={HOSTILE: HOSTILE},
            cluster=RecordedCluster(HOSTILE, HOSTILE),
        )
    )
    folder = site.store.folder("hostile")
    (folder.path / '"><script>alert(1)<!--').write_text("")
    site.store.create(record("plain"))
    AnnotationStore(site.store.home).add(
        Annotation(annotation_id="x", race_timestamp="20260301T000000Z", message=HOSTILE)
    )
    search = quote(HOSTILE.encode("utf-8", "replace"))
    for path in (
        "",
        f"?search={search}&baseline={search}&contender={search}",
        "race/{}",
        "race/{}/files",
        "race/{}/trend",
        "race/{}/notes",
    ):
        plain = Page(site.page(path.format("plain") if "search" not in path else ""))
        page = Page(site.page(path.format("hostile")))
        assert {tag for tag, _ in page.elements} <= {tag for tag, _ in plain.elements} | {
            "label",
            "span",
            "tr",
        }
        names = {name for _, attributes in page.elements for name in attributes}
        assert not any(name.startswith("on") for name in names)


def test_notes_are_added_and_deleted_with_the_proof_of_the_form_only(site):
    site.store.create(record())
    AnnotationStore(site.store.home).add(
        Annotation(annotation_id="other", race_timestamp="20260302T000000Z", message="the next day")
    )
    text = site.page("race/race-1/notes")
    assert "There are none" in text
    (proof,) = {
        attributes["value"] for _, attributes in Page(text).elements if attributes.get("name") == "token"
    }
    form = {"message": " a new \n disk ", "track": "1"}
    for wrong, headers in (
        (form, {}),
        (form | {"token": "x"}, {}),
        (form | {"token": proof}, {"Origin": "http://evil.example"}),
        (form | {"token": proof}, {"Origin": "null"}),
        (form | {"token": proof}, {"Cookie": ""}),
        (form | {"token": proof}, {"Sec-Fetch-Site": "cross-site"}),
    ):
        response, _ = site.post("race/race-1/notes", wrong, **headers)
        assert response.status == 403
    multipart = {"Content-Type": "multipart/form-data; boundary=x"}
    assert site.post("race/race-1/notes", form, **multipart)[0].status == 400
    response, _ = site.post("race/race-1/notes", form | {"token": proof})
    assert (response.status, response.headers["Location"]) == (303, f"{site.root}race/race-1/notes")
    (added,) = (
        note for note in AnnotationStore(site.store.home).list(pytest.fail) if note.annotation_id != "other"
    )
    assert (added.message, added.track, added.race_timestamp) == (
        "a new disk",
        "http_logs",
        "20260301T000000Z",
    )
    assert "a new disk" in site.page("race/race-1/notes")

    for name in ("other", "..%2f..%2fraces", added.annotation_id + "x"):
        assert site.post(f"race/race-1/notes/{name}/delete", {"token": proof})[0].status == 404
    assert site.get(f"race/race-1/notes/{added.annotation_id}/delete")[0].status == 405
    assert site.post(f"race/race-1/notes/{added.annotation_id}/delete", {"token": "x"})[0].status == 403
    assert site.post(f"race/race-1/notes/{added.annotation_id}/delete", {"token": proof})[0].status == 303
    assert [note.annotation_id for note in AnnotationStore(site.store.home).list(pytest.fail)] == ["other"]


@pytest.mark.parametrize("message", ["", "  ", "x" * 2_001])
def test_a_note_without_a_text_is_refused(site, message):
    site.store.create(record())
    text = site.page("race/race-1/notes")
    (proof,) = {
        attributes["value"] for _, attributes in Page(text).elements if attributes.get("name") == "token"
    }
    response, text = site.post("race/race-1/notes", {"message": message, "token": proof})
    assert response.status == 422
    assert "1 to 2,000 characters" in text


def test_races_lead_to_the_trend_of_races_like_them(site):
    site.store.create(record())
    site.store.create(record("broken"))
    site.store.create(record("killed", complete=False)).finish(record("killed", complete=False))
    path = f"{site.root}race/race-1/trend"
    targets = links(site.page())
    assert path in targets
    assert f"{site.root}race/killed/trend" not in targets
    for _ in range(2):
        page = site.page("race/race-1/trend")
        (frame,) = links(page, "iframe", "src")
        assert site.page(frame.removeprefix(site.root)) == "<p>trend of race-1</p>"
        assert path in links(page)
    # A new one each time, because there may be new races.
    assert site.maker.made == ["trend"] * 2
    text = site.page("race/broken/trend")
    assert "it has no trend" in text
    assert "look elsewhere" in text
    assert site.get("race/unknown/trend")[0].status == 404


def test_selected_races_are_compared(site):
    fill(site, 3)
    page = site.page("compare?baseline=race-002&contender=race-000&contender=race-001")
    (frame,) = links(page, "iframe", "src")
    assert site.page(frame.removeprefix(site.root)) == "<p>race-002 against race-000,race-001</p>"
    assert f"{site.root}compare?baseline=race-000&baseline=race-001&contender=race-002" in links(page)
    # Two of the same column: the older one is the baseline.
    (frame,) = links(site.page("compare?contender=race-002&contender=race-001"), "iframe", "src")
    assert site.page(frame.removeprefix(site.root)) == "<p>race-001 against race-002</p>"
    assert site.maker.made == ["comparison"] * 2


def test_a_comparison_is_made_again_if_what_it_depends_on_has_changed(site):
    """The journal of the experiment shows whether it has ended, which the comparison says."""
    experiments = ExperimentStore(site.store.home)
    experiment = experiments.create("heap")
    tags = {"experiment": experiment.experiment_id}
    folders = [site.store.create(record(f"race-{side}", user_tags=tags)) for side in "ab"]
    site.store.create(record("other"))

    def made(*races: str) -> int:
        before = len(site.maker.made)
        for _ in range(2):
            assert "against" in site.page(f"comparison.html?baseline={races[0]}&contender={races[1]}")
        return len(site.maker.made) - before

    def written(path: Path) -> None:
        path.touch()
        later = path.stat().st_mtime_ns + 1_000_000_000
        os.utime(path, ns=(later, later))

    both = ("race-a", "race-b")
    assert (made(*both), made("other", "race-b")) == (1, 1)
    written(experiment.journal_file)
    assert made(*both) == 1
    written(experiments.home / NOISE)
    assert (made(*both), made("other", "race-b")) == (1, 1)
    for path in (folders[0].race_json, folders[0].journal):
        written(path)
        assert (made(*both), made("other", "race-b")) == (1, 0)


@pytest.mark.parametrize(
    "query", ["", "baseline=race-000", "baseline=race-000&baseline=race-001&baseline=race-002"]
)
def test_a_comparison_needs_both_sides(site, query):
    fill(site, 3)
    response, text = site.get(f"compare?{query}")
    assert response.status == 422
    assert "needs a baseline and a contender" in text


def test_a_comparison_of_unknown_races_is_not_found(site):
    assert site.get("compare?baseline=a&contender=../b")[0].status == 404


def test_a_body_that_is_too_large_is_refused(site):
    site.store.create(record())
    connection: HTTPConnection = site.connect()
    headers = {"Cookie": site.cookie, "Content-Type": "application/x-www-form-urlencoded"}
    connection.request("POST", f"{site.root}race/race-1/notes", b"a" * 100_000, headers)
    assert connection.getresponse().status == 413
    connection.close()


def test_a_note_with_a_name_that_is_not_utf_8_hides_no_other_one(site):
    site.store.create(record("race-1"))
    notes = AnnotationStore(site.store.home)
    notes.add(Annotation(annotation_id="good", race_timestamp="20260301T000000Z", message="a new disk"))
    (good,) = (site.store.home / "annotations").iterdir()
    (good.parent / "\udcff.json").write_text(good.read_text().replace("new", "odd"))
    text = site.page("race/race-1/notes")
    assert "a new disk" in text
    assert "a odd disk" not in text
