"""Track processors and validators, and the objects that they receive."""

import json
import os
from pathlib import Path

import pytest

from pacenote.errors import TrackError
from pacenote.plugins.rally_api.convert import to_model, to_rally
from pacenote.plugins.tools import DataTools
from pacenote.plugins.track_plugins import open_plugins
from plugins.tracks import loaded_track, write_track

DOCUMENT = {
    "description": "all kinds of things",
    "indices": [{"name": "logs", "body": "body.json"}],
    "corpora": [
        {
            "name": "logs",
            "base-url": "http://data.example",
            "documents": [
                {"source-file": "a.json.bz2", "document-count": 5, "uncompressed-bytes": 9},
                {"source-file": "b.json", "document-count": 7, "includes-action-and-meta-data": True},
            ],
        }
    ],
    "operations": [
        {"name": "find", "operation-type": "search", "body": {"query": {"match_all": {}}}, "#note": 1},
        {"name": "fill", "operation-type": "bulk", "bulk-size": 2},
    ],
    "challenges": [
        {
            "name": "first",
            "parameters": {"size": 1},
            "schedule": [
                {"operation": "find", "target-throughput": "5 ops/s", "tags": "x", "odd": 2},
                {"operation": "find", "name": "again", "target-interval": 3, "schedule": "poisson"},
                {
                    "parallel": {
                        "clients": 2,
                        "completed-by": "fill",
                        "tasks": [{"operation": "fill"}, {"operation": "find", "name": "beside"}],
                    }
                },
                {"operation": {"operation-type": "sleep", "duration": 1}, "clients": 3, "iterations": 4},
            ],
        },
        {"name": "second", "default": True, "schedule": [{"operation": "fill", "time-period": 5}]},
    ],
}


def track_with(folder: Path, text: str, document=None) -> Path:
    root = write_track(folder, {"track.py": text}, DOCUMENT if document is None else document)
    (root / "body.json").write_text(json.dumps({"settings": {"a": {"b": 1}}}))
    return root


def processed(root: Path, challenge: str = "first"):
    track = loaded_track(root)
    with open_plugins(track.plugin) as plugins:
        return plugins.after_load(track, challenge)


def test_an_unmodified_track_is_converted_back_unchanged(tmp_path):
    track = loaded_track(track_with(tmp_path, "def register(registry): ...\n"))
    back = to_model(to_rally(track, "first"), track)
    assert back == track
    fill, find = (back.challenge("first").schedule[2].tasks[index].operation for index in (0, 1))
    assert find is back.challenge("first").schedule[0].operation
    assert fill is back.challenge("second").schedule[0].operation


def test_objects_have_rallys_attributes(tmp_path):
    track = to_rally(loaded_track(track_with(tmp_path, "def register(registry): ...\n")), "first")
    assert (track.selected_challenge.name, track.default_challenge.name) == ("first", "second")
    assert track.selected_challenge_or_default is track.find_challenge("first")
    first, again, parallel, pause = track.selected_challenge.schedule
    assert first.operation is again.operation
    assert (first.target_throughput, again.target_throughput) == ((5.0, "ops/s"), (1 / 3, "ops/s"))
    assert (first.schedule, again.schedule, first.tags) == (None, "poisson", ["x"])
    assert first.params["odd"] == 2
    assert first.operation.params["operation-type"] == "search"
    assert first.operation.params["#note"] == 1
    assert [task.name for task in parallel if task.completes_parent] == ["fill"]
    assert (parallel.clients, [task.name for task in pause], pause.iterations) == (2, ["sleep"], 4)
    packed, plain = track.corpora[0].documents
    assert (packed.document_file, packed.document_archive) == ("a.json", "a.json.bz2")
    assert (packed.base_url, packed.target_index) == ("http://data.example", "logs")
    assert (plain.number_of_lines, plain.has_compressed_corpus()) == (14, False)
    assert str(track.indices[0]) == "logs"
    assert track.indices[0].body == {"settings": {"a": {"b": 1}}}
    assert track.index_names() == ["logs"]
    assert "number_of_documents = [7]" in repr(plain)


def test_changes_made_by_processors_are_applied_to_the_model(tmp_path):
    text = """
        import copy
        from esrally.track import (
            Index, IndexTemplate, Operation, OperationType, Task, ComponentTemplate, DocumentCorpus, Documents
        )

        class Lazy(Documents):
            def __init__(self):
                super().__init__(source_format=Documents.SOURCE_FORMAT_BULK, document_file="made.json")

            @property
            def number_of_documents(self):
                return 3

            @number_of_documents.setter
            def number_of_documents(self, value):
                pass

        class Processor:
            def on_after_load_track(self, track):
                track.selected_challenge_or_default.parameters["id"] = "abc"
                track.corpora.append(DocumentCorpus("made", [Lazy()], {"generated": True}))
                track.component_templates.append(ComponentTemplate("part", {"template": {}}))
                track.composable_templates += [IndexTemplate("whole", "w-*", {"priority": 1})]
                track.indices[0].body["settings"]["a"]["b"] = 2
                track.data_streams.append(Index("stream"))
                first, again, *_ = track.selected_challenge.schedule
                again.operation = copy.copy(again.operation)
                again.operation.params = {**again.operation.params, "body": {"query": {"term": {"x": 1}}}}
                again.params["target-interval"] = 4
                first.clients = 9
                extra = Operation("heal", OperationType.ClusterHealth, params={"request-params": {}})
                track.selected_challenge.prepend_tasks([Task("heal", extra)])

        def register(registry):
            registry.register_track_processor(Processor())
        """
    root = track_with(tmp_path, text)
    before, track = loaded_track(root), processed(root)
    assert before.challenge("first").parameters == {"size": 1}
    challenge = track.challenge("first")
    assert challenge.parameters == {"size": 1, "id": "abc"}
    heal, first, again, *_ = challenge.schedule
    assert (heal.name, heal.operation.type, heal.clients) == ("heal", "cluster-health", 1)
    assert (first.clients, first.operation.params["body"]) == (9, {"query": {"match_all": {}}})
    assert again.operation.params["body"] == {"query": {"term": {"x": 1}}}
    assert again.target_throughput.value == 1 / 4
    made = track.corpora[1]
    assert (made.name, made.meta, made.documents[0].document_count) == ("made", {"generated": True}, 3)
    assert track.component_templates[0].name == "part"
    assert track.composable_templates[0].pattern == "w-*"
    assert track.indices[0].body == {"settings": {"a": {"b": 2}}}
    assert before.indices[0].body == {"settings": {"a": {"b": 1}}}
    assert track.data_streams[0].name == "stream"


PREPARING = """
    import os

    class Processor:
        downloader = decompressor = None

        def on_prepare_track(self, track, data_root_dir):
            self.state = lambda: "cannot be pickled"
            for number in range(4):
                yield self.make, {"folder": data_root_dir, "number": number}

        def make(self, folder, number):
            if number == FAILING:
                raise BaseException("out of paper")
            with open(os.path.join(folder, f"{number}.txt"), "w") as file:
                file.write(f"{os.getpid()} {self.state()}")

    def register(registry):
        registry.register_track_processor(Processor())
    """


def prepare(root: Path, data: Path, tools: DataTools | None = None):
    track, reports = loaded_track(root), []
    with open_plugins(track.plugin) as plugins:
        plugins.after_load(track, "first")
        plugins.prepare(data, tools or DataTools(), lambda *progress: reports.append(progress))
    return reports


@pytest.mark.process
def test_data_is_prepared_in_separate_processes(tmp_path):
    reports = prepare(track_with(tmp_path, PREPARING.replace("FAILING", "-1")), tmp_path)
    made = [(tmp_path / f"{number}.txt").read_text().split(maxsplit=1) for number in range(4)]
    assert {text for _, text in made} == {"cannot be pickled"}
    assert str(os.getpid()) not in {pid for pid, _ in made}
    assert reports[-1] == ("preparing data: Processor", 4, 4)


@pytest.mark.process
def test_a_failed_preparation_is_reported_with_its_line(tmp_path):
    with pytest.raises(TrackError, match=r"Processor failed: track.py:14: BaseException: out of paper$"):
        prepare(track_with(tmp_path, PREPARING.replace("FAILING", "1")), tmp_path)


@pytest.mark.parametrize(
    ("item", "described"),
    [
        ("5", "a value of type int (5)"),
        ("None", "nothing"),
        ("(print,)", "a value of type tuple"),
        ("(print, [])", "a value of type tuple"),
    ],
)
def test_calls_that_a_processor_cannot_mean_are_refused(tmp_path, item, described):
    wrong = f"""
        class Processor:
            def on_prepare_track(self, track, data_root_dir):
                return [(print, {{}}), {item}]

        def register(registry):
            registry.register_track_processor(Processor())
        """
    with pytest.raises(TrackError) as raised:
        prepare(track_with(tmp_path, wrong), tmp_path)
    assert raised.value.message.startswith(f"the track processor Processor returned {described}")
    assert raised.value.message.endswith(
        "as item 2 of on_prepare_track, but must return pairs of a function and a dictionary of its arguments"
    )


FETCHING = """
    from esrally.track.loader import DefaultTrackPreparator, DocumentSetPreparator
    from esrally.utils import net

    class Processor:
        def __init__(self):
            self.downloader = self.decompressor = None

        def on_prepare_track(self, track, data_root_dir):
            preparator = DocumentSetPreparator(track.name, self.downloader, self.decompressor)
            for documents in track.corpora[0].documents:
                preparator.prepare_document_set(documents, data_root_dir + "/seeds")
            net.download_http("http://data.example/more", data_root_dir + "/more")
            return []

    def register(registry):
        registry.register_track_processor(Processor())
        registry.register_track_processor(DefaultTrackPreparator())
    """


def test_processors_download_and_unpack_with_the_tools_of_the_race(tmp_path):
    fetched = []

    def download(url, path, size):
        fetched.append((url, Path(path).name, size))
        Path(path).write_bytes(b"packed")

    def unpack(archive, path):
        path.write_bytes(b"unpacked!")

    prepare(
        track_with(tmp_path, FETCHING),
        tmp_path,
        DataTools(download, unpack, lambda path: 14 if path.name == "b.json" else 5),
    )
    assert fetched == [
        ("http://data.example/a.json.bz2", "a.json.bz2", None),
        ("http://data.example/b.json", "b.json", None),
        ("http://data.example/more", "more", None),
    ]
    wrong = DataTools(download, unpack, lambda path: {"a.json": 5, "b.json": 3}[path.name])
    with pytest.raises(TrackError, match=r"b.json of track tour has 3 lines, but the track declares 14"):
        prepare(tmp_path / "tour", tmp_path, wrong)


def test_a_processor_that_raises_is_reported_with_its_line(tmp_path):
    text = """
        class Processor:
            def on_after_load_track(self, track):
                track.corpora[5]

        def register(registry):
            registry.register_track_processor(Processor())
        """
    with pytest.raises(
        TrackError, match=r"track processor Processor of track \"tour\" failed: track.py:4: Ind"
    ):
        processed(track_with(tmp_path, text))


def test_a_track_that_a_processor_made_invalid_is_rejected(tmp_path):
    text = """
        class Processor:
            def on_after_load_track(self, track):
                track.challenges = [1]

        def register(registry):
            registry.register_track_processor(Processor())
        """
    with pytest.raises(TrackError, match="left an invalid track"):
        processed(track_with(tmp_path, text))


VALIDATING = """
    from esrally import exceptions

    def check(params):
        if params.get("size", 0) > 3:
            raise exceptions.TrackConfigError("size must be 3 at most")
        return params["needed"]

    def register(registry):
        registry.register_validator("first", check)
        registry.register_validator("first", check)
    """


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"size": 4}, 'challenge "first" cannot run with these parameters: size must be 3 at most'),
        ({"size": 1}, "the validator check of track \"tour\" failed: track.py:7: KeyError: 'needed'"),
    ],
)
def test_validators_reject_parameters_with_an_error_message(tmp_path, params, message):
    track = loaded_track(track_with(tmp_path, VALIDATING))
    with open_plugins(track.plugin) as plugins:
        plugins.validate("first", {"needed": 1})
        plugins.validate("second", params)
        with pytest.raises(TrackError) as caught:
            plugins.validate("first", params)
    assert caught.value.message == message


@pytest.mark.parametrize(
    ("source", "reads"),
    [
        ("class Source(BulkIndexParamSource): ...", 2),
        ("class Source:\n    def __init__(self, t, p):\n        self.inner = BulkIndexParamSource(t, p)", 2),
        ("class Source:\n    def __init__(self, t, p):\n        self.corpora = t.corpora", 2),
        ("class Source:\n    def __init__(self, t, p): ...", 0),
        ("def Source(track, params): ...", 0),
    ],
)
def test_data_is_prepared_for_sources_that_read_corpora(tmp_path, source, reads):
    text = f"from esrally.track.params import BulkIndexParamSource\n{source}\n"
    text += "def register(registry):\n    registry.register_param_source('mine', Source)\n"
    operation = {"operation-type": "bulk", "bulk-size": 1, "param-source": "mine"}
    root = track_with(
        tmp_path, text, {**DOCUMENT, "challenges": [{"name": "a", "schedule": [{"operation": operation}]}]}
    )
    track = loaded_track(root)
    with open_plugins(track.plugin) as plugins:
        (task,) = track.challenge("a").tasks()
        assert len(plugins.source_files(task, track)) == reads
