"""The plug-ins of one track: they change the track, prepare its data and validate its parameters."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from pacenote.errors import TrackError
from pacenote.model import track as model
from pacenote.model.field_reader import FieldReader
from pacenote.model.messages import quoted
from pacenote.model.plugin_names import PluginNames
from pacenote.model.problems import Problems
from pacenote.model.progress import ProgressCallback
from pacenote.operations.corpus_files import select_files
from pacenote.plugins.failures import describe
from pacenote.plugins.load import LoadedPlugins, load_plugins
from pacenote.plugins.parallel import ParallelCall, run_in_parallel
from pacenote.plugins.plugin_registry import PluginRegistry
from pacenote.plugins.process_guard import protected_process
from pacenote.plugins.rally_api import track as rally
from pacenote.plugins.rally_api.convert import set_data_files, to_model, to_rally
from pacenote.plugins.rally_api.errors import TrackConfigError
from pacenote.plugins.rally_api.esrally.track.loader import Decompressor, Downloader
from pacenote.plugins.tools import DataTools, set_current_tools
from pacenote.plugins.track_log import FILE_NAME

_BULK_SOURCE = "BulkIndexParamSource"


class TrackPlugins:
    """The loaded plug-ins of one track.

    `track` is the mutable track of the plug-ins; it is available once `after_load` has been called.
    """

    def __init__(self, plugins: LoadedPlugins) -> None:
        self._plugins = plugins
        self._track: rally.Track | None = None

    @property
    def root(self) -> Path:
        """The folder of the track."""
        return self._plugins.root

    @property
    def registry(self) -> PluginRegistry:
        """The registry of what the plug-ins registered."""
        return self._plugins.registry

    @property
    def names(self) -> PluginNames:
        """The names that the plug-ins registered."""
        return self.registry.names()

    @property
    def track(self) -> rally.Track:
        """The mutable track of the plug-ins."""
        assert self._track is not None, "`after_load` has not been called"
        return self._track

    def after_load(self, track: model.Track, challenge: str) -> model.Track:
        """Returns the track as changed by the track processors; `challenge` is the one that runs.

        Raises `TrackError` with file and line if a processor raises an error.
        """
        self._track = to_rally(track, challenge)
        for processor in self.registry.track_processors:
            method = getattr(processor, "on_after_load_track", None)
            if callable(method):
                self._call("track processor", processor, partial(method, self.track))
        return to_model(self.track, track) if self.registry.track_processors else track

    def validate(self, challenge: str, params: Mapping[str, Any]) -> None:
        """Calls the validators of a challenge with the track parameters.

        Raises `TrackError` with the message of a validator that rejects them.
        """
        for validator in self.registry.validators.get(challenge, ()):
            try:
                with protected_process():
                    validator(dict(params))
            except KeyboardInterrupt:
                raise
            except TrackConfigError as error:
                raise TrackError(
                    f"challenge {quoted(challenge)} cannot run with these parameters: {error}"
                ) from error
            except BaseException as error:
                raise self._failed("validator", validator, error) from error

    def prepare(self, data_root: Path, tools: DataTools, progress: ProgressCallback) -> None:
        """Calls the track processors to prepare data in a folder.

        Raises `TrackError` with file and line if a processor, or a function that it returned, raises an
        error.
        """
        set_current_tools(tools)
        for processor in self.registry.track_processors:
            for name, value in (
                ("downloader", Downloader()),
                ("decompressor", Decompressor()),
                ("cfg", None),
            ):
                if hasattr(processor, name):
                    setattr(processor, name, value)
            method = getattr(processor, "on_prepare_track", None)
            if not callable(method):
                continue
            progress(f"preparing data: {_name(processor)}", 0, 0)
            calls: list[ParallelCall] = []
            # The result may be a generator, whose code runs during the iteration.
            self._call("track processor", processor, partial(_collect, method, self.track, data_root, calls))
            run_in_parallel(_name(processor), calls, self.root, progress)

    def source_files(self, task: model.Task, track: model.Track) -> Sequence[model.CorpusFile]:
        """Returns the data files that the parameter source of a task reads."""
        source = self.registry.param_sources.get(str(task.operation.params.get("param-source")))
        names = _names_in_constructor(source)
        if _BULK_SOURCE not in names and "corpora" not in names:
            return ()
        return select_files(FieldReader(task.operation.params, task.operation.key_path, Problems()), track)

    def set_data_files(
        self, folders: Sequence[Path], data_files: Mapping[tuple[str, str], tuple[Path, int]]
    ) -> None:
        """Sets the paths of the data files for parameter sources; see `convert.set_data_files`."""
        set_data_files(self.track, folders, data_files)

    def log_to(self, folder: Path, secrets: Collection[str]) -> None:
        """Writes what the code logs to a file in a folder, without these secrets."""
        self._plugins.log.write_to(folder / FILE_NAME, secrets)

    def _call(self, what: str, thing: object, call: Callable[[], object]) -> None:
        try:
            with protected_process():
                call()
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raise self._failed(what, thing, error) from error

    def _failed(self, what: str, thing: object, error: BaseException) -> TrackError:
        text = f"the {what} {_name(thing)} of track {quoted(self.root.name)} failed"
        return TrackError(f"{text}: {describe(error, self.root)}")


@contextlib.contextmanager
def open_plugins(
    file: Path, libraries: Sequence[Path] = (), warn: Callable[[str], None] = lambda _: None
) -> Generator[TrackPlugins, None, None]:
    """Loads the plug-ins of a track from its `track.py` for the block.

    `libraries` are the folders of its packages; `warn` is called with warnings that the code logs. Raises
    `TrackError` with file and line if a plug-in cannot be loaded.
    """
    with load_plugins(file, libraries, warn) as plugins:
        yield TrackPlugins(plugins)


def _collect(
    method: Callable[..., Any], track: rally.Track, data_root: Path, calls: list[ParallelCall]
) -> None:
    calls.extend(method(track, str(data_root)) or ())


def _name(thing: object) -> str:
    return getattr(thing, "__name__", None) or type(thing).__name__


def _names_in_constructor(source: object) -> set[str]:
    """Returns the names of a source's base classes and those used in their constructors.

    They show whether the source reads corpora.
    """
    if not inspect.isclass(source):
        return set()
    names: set[str] = {base.__name__ for base in source.__mro__}
    for base in source.__mro__:
        code = getattr(base.__dict__.get("__init__"), "__code__", None)
        names.update(code.co_names if code is not None and base.__name__ != _BULK_SOURCE else ())
    return names
