"""The Python code of a track is loaded and registered."""

import importlib
import logging
import sys
import types

import pytest

from pacenote.errors import TrackError
from pacenote.plugins.load import load_plugins
from plugins.tracks import write_track

EMPTY = "def register(registry): pass\n"


@pytest.fixture(autouse=True)
def no_modules_remain():
    modules, path, finders = set(sys.modules), list(sys.path), list(sys.meta_path)
    yield
    remaining = {name for name in set(sys.modules) - modules if name.partition(".")[0] in ("tour", "esrally")}
    assert remaining == set()
    assert (sys.path, sys.meta_path) == (path, finders)


def refusal(root):
    with pytest.raises(TrackError) as caught, load_plugins(root / "track.py"):
        pass
    assert "\n" not in caught.value.message
    return caught.value


def test_modules_in_the_track_folder_can_import_each_other_in_every_way(tmp_path):
    root = write_track(
        tmp_path,
        {
            "track.py": """
                from .parts import here
                from tour.parts.there import NAME
                from shared import common
                import esrally
                from esrally.track import exceptions

                def register(registry):
                    assert exceptions.TrackConfigError is esrally.exceptions.TrackConfigError
                    assert callable(esrally.utils.net.download_http)
                    registry.register_runner(f"{here.NAME}-{NAME}-{common.NAME}", run, async_runner=True)

                async def run(es, params): ...
                """,
            "parts/__init__.py": "",
            "parts/here.py": "NAME = __name__",
            "parts/there.py": "from . import here\nNAME = here.__package__",
            "alone.py": "import builtins; builtins.pacenote_test_saw = __name__",
            "_tools/broken.py": "1 / 0",
            "._track.py": "1 / 0",
            ".git/hooks/check.py": "1 / 0",
            "parts/.backup/there.py": "1 / 0",
            "../shared/common.py": "NAME = 'common'",
        },
    )
    with load_plugins(root / "track.py") as plugins:
        assert list(plugins.registry.runners) == ["tour.parts.here-tour.parts-common"]
        assert sys.modules["tour.parts.here"] is sys.modules["tour.track"].here
        import builtins

        assert builtins.pacenote_test_saw == "tour.alone"


def test_a_module_is_executed_once_and_its_state_is_shared(tmp_path):
    files = {"track.py": "import tour.state\n" + EMPTY, "state.py": "import tour.count\ntour.count.N += 1"}
    root = write_track(tmp_path, {**files, "count.py": "N = 0"})
    with load_plugins(root / "track.py"):
        assert sys.modules["tour.count"].N == 1
    with load_plugins(root / "track.py"):
        assert sys.modules["tour.count"].N == 1


def test_an_installed_rally_is_neither_used_nor_changed(tmp_path, monkeypatch):
    theirs = types.ModuleType("esrally")
    monkeypatch.setitem(sys.modules, "esrally", theirs)
    root = write_track(tmp_path, {"track.py": "from esrally.driver.runner import Runner\n" + EMPTY})
    with load_plugins(root / "track.py"):
        assert sys.modules["esrally"] is not theirs
    assert sys.modules.pop("esrally") is theirs


def test_an_installed_module_with_the_same_name_is_replaced_and_restored(tmp_path, monkeypatch):
    theirs = types.ModuleType("tour")
    monkeypatch.setitem(sys.modules, "tour", theirs)
    root = write_track(tmp_path, {"track.py": "from .part import NAME\n" + EMPTY, "part.py": "NAME = 1"})
    with load_plugins(root / "track.py"):
        assert sys.modules["tour"] is not theirs
    assert sys.modules.pop("tour") is theirs


def test_dependencies_of_the_track_can_be_imported(tmp_path, tmp_path_factory):
    libraries = tmp_path_factory.mktemp("libraries")
    (libraries / "rarely_used_name.py").write_text("VALUE = 1")
    root = write_track(tmp_path, {"track.py": "import rarely_used_name\n" + EMPTY})
    with load_plugins(root / "track.py", (libraries,)):
        pass
    del sys.modules["rarely_used_name"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = 1\nraise BaseException('no\\nway')", "track.py:2: BaseException: no way"),
        ("def register(registry)\n    pass", "track.py:1: SyntaxError: expected ':'"),
        ("import no_such_module_x", "track.py:1: ModuleNotFoundError: No module named 'no_such_module_x'"),
        ("from esrally.storage import x", "ModuleNotFoundError: Pacenote does not provide the module esr"),
        ("x = 1", "has no function register(registry)"),
        ("import broken\n" + EMPTY, "ModuleNotFoundError: No module named 'broken'"),
        ("from .broken import x\n" + EMPTY, "broken.py:1: ZeroDivisionError: division by zero"),
    ],
)
def test_code_that_cannot_be_loaded_is_reported_with_its_line(tmp_path, text, expected):
    name = "broken.py" if "broken" in text else "_left_out/broken.py"
    root = write_track(tmp_path, {"track.py": text, name: "1 / 0"})
    assert expected in refusal(root).message


def test_the_error_about_a_missing_package_has_a_hint(tmp_path):
    root = write_track(tmp_path, {"track.py": "import no_such_module_x\n" + EMPTY})
    assert "dependencies" in refusal(root).hint


def test_the_error_about_a_module_that_is_not_provided_names_the_list(tmp_path):
    root = write_track(tmp_path, {"track.py": "from esrally import metrics\n" + EMPTY})
    assert "docs/plugins.md" in refusal(root).hint


REGISTRATIONS = [
    ("register_runner('a', run)", 'the runner "a" must be async and registered with async_runner=True'),
    ("register_runner('a', Some, async_runner=True)", 'the runner "a" is neither a function nor an object'),
    ("register_runner('', run, async_runner=True)", "the runner needs a name, not ''"),
    ("register_param_source('a', Some())", 'the parameter source "a" is neither a function nor a class'),
    ("register_scheduler('poisson', Some)", 'the scheduler "poisson" is registered under a name th'),
    ("register_scheduler('a', 3)", 'the scheduler "a" is neither a class nor a function: an object of int'),
    ("register_track_processor(Some())", "the track processor must be an object with on_after_load_track or"),
    ("register_validator('a', 3)", 'the validator "a" cannot be called'),
]


@pytest.mark.parametrize(("call", "expected"), REGISTRATIONS)
def test_invalid_registrations_are_rejected_with_an_error_message(tmp_path, call, expected):
    text = f"class Some: ...\nasync def run(es, params): ...\ndef register(registry):\n    registry.{call}\n"
    message = refusal(write_track(tmp_path, {"track.py": text})).message
    assert f"track.py:4: {expected}" in message


def test_the_planner_receives_the_registered_names(tmp_path):
    text = """
        from esrally.driver.runner import Retry, Runner

        class Ending(Runner):
            completed = percent_completed = property(lambda self: 1 / 0)

        class Reporting(Runner):
            percent_completed = 0.0

        class Scheduler: ...

        def source(track, params, **kwargs): ...

        def register(registry):
            assert registry.meta_data["async_runner"] is True
            registry.register_runner("ending", Retry(Ending()), async_runner=True)
            registry.register_runner("reporting", Reporting(), async_runner=True)
            registry.register_param_source("source", source)
            registry.register_scheduler("scheduler", Scheduler)
        """
    with load_plugins(write_track(tmp_path, {"track.py": text}) / "track.py") as plugins:
        names = plugins.registry.names()
    assert names.runners == {"ending", "reporting"}
    assert names.task_completing_runners == {"ending"}
    assert (names.param_sources, names.schedulers) == ({"source"}, {"scheduler"})


def test_log_messages_of_plug_ins_are_not_printed(tmp_path, capfd):
    text = "import logging\nlogging.getLogger(__name__).warning('psst')\n" + EMPTY
    root_logger = logging.getLogger()
    before, root_logger.handlers[:] = root_logger.handlers[:], []
    try:
        with load_plugins(write_track(tmp_path, {"track.py": text}) / "track.py"):
            logging.getLogger("tour").error("psst")
        assert root_logger.handlers == []
    finally:
        root_logger.handlers[:] = before
    assert capfd.readouterr() == ("", "")


def test_loggers_of_runners_are_named_after_their_module(tmp_path):
    text = """
        from esrally.driver import runner
        class Some(runner.Runner): ...
        def register(registry):
            registry.register_runner("some", Some(), async_runner=True)
        """
    with load_plugins(write_track(tmp_path, {"track.py": text}) / "track.py") as plugins:
        assert plugins.registry.runners["some"].logger is logging.getLogger("tour.track")


def test_modules_of_others_beside_a_track_are_not_imported(tmp_path):
    """All users may create files in a folder such as /tmp."""
    files = {"track.py": "import fractions, tour.other\nfrom . import other\n" + EMPTY, "other.py": ""}
    root = write_track(tmp_path, {**files, "../fractions.py": "1 / 0", "../unknown.py": "1 / 0"})
    tmp_path.chmod(0o1777)
    sys.modules.pop("fractions", None)
    with load_plugins(root / "track.py"):
        assert sys.modules["fractions"].__file__ != str(tmp_path / "fractions.py")
        with pytest.raises(ModuleNotFoundError):
            importlib.import_module("unknown")
