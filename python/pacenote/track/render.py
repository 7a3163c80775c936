"""Renders the text of a track with Jinja2, in the environment that Rally's tracks expect.

Undefined variables are lenient (empty, false). Track parameters are globals; Rally's own globals `now`,
`glob`, `build_flavor` and `serverless_operator` replace them. The bodies of indices and templates can use the
parameters, `build_flavor`, `serverless_operator` and the helpers, but neither `now` nor the date filters, and
cannot include files.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import jinja2
import jinja2.defaults
import jinja2.meta
import jinja2.nodes
from msgspec import Struct

from pacenote.errors import TrackError
from pacenote.model.messages import did_you_mean, quoted
from pacenote.track.dates import DATE_FILTERS
from pacenote.track.includes import AssembledText, SourceLocation, assemble
from pacenote.track.source import TrackSource

_HELPERS = """\
{% macro collect(parts) -%}
{%- set separator = joiner(",\n") -%}
{%- for part in glob(parts) %}{{ separator() }}{% include part %}{% endfor -%}
{%- endmacro %}
{% macro exists_set_param(name, value, default_value=None, comma=True) -%}
{%- if value is defined or default_value is not none -%}
{%- if comma %},{% endif %}
"{{ name }}": {{ (value if value is defined else default_value) | tojson }}
{%- endif -%}
{%- endmacro %}
"""
_HELPER_NAMES = ("rally.helpers", "benchmark.helpers")
_HELPER_FILE = "<helpers>"
RESERVED_NAMES = frozenset({"now", "glob", "build_flavor", "serverless_operator"})
"""Variables that Rally sets in templates. Parameters cannot have these names."""

_NOT_PARAMETERS = RESERVED_NAMES | {"rally", "benchmark", *jinja2.defaults.DEFAULT_NAMESPACE}


class RenderOptions(Struct, frozen=True):
    """Options for rendering, apart from text and parameters."""

    now: float
    """The value of `now` in templates, in seconds since 1970."""

    build_flavor: str = "default"
    """The build flavor of the engine."""

    serverless_operator: bool = False
    """Whether the user operates the serverless cluster."""

    ignore_unused: bool = False
    """Whether parameters that no part of the track reads are accepted."""


class _References(NamedTuple):
    """References of a template to variables and files."""

    variables: set[str]
    included: list[str]
    defaults: dict[str, Any]


class Renderer:
    """Renders the files of one track, and keeps their text in order to determine which parameters they
    read.
    """

    def __init__(self, source: TrackSource, params: Mapping[str, Any], options: RenderOptions) -> None:
        self._source = source
        self._params = params
        self._options = options
        self._texts: list[str] = []
        self._analyzed: dict[str, _References] = {}

    def track(self, assembled: AssembledText) -> str:
        """Returns the rendered text of the track. Raises `TrackError` with the file and line of the error."""
        loaders = [_HELPER_LOADER, jinja2.FunctionLoader(self._include)]
        environment = jinja2.Environment(loader=jinja2.ChoiceLoader(loaders))
        environment.globals.update(self._globals(), now=self._options.now, glob=self._glob)
        environment.filters.update(DATE_FILTERS)
        return self._render(environment, assembled)

    def body(self, file: Path) -> str:
        """Returns the rendered text of an index or template body. Raises `TrackError` with file and line."""
        environment = jinja2.Environment(loader=_HELPER_LOADER)
        environment.globals.update(self._globals())
        return self._render(environment, assemble(self._source, file))

    def unused_params(self) -> tuple[str, ...]:
        """Returns the parameters, sorted, that no text rendered so far can have read."""
        return tuple(sorted(name for name in set(self._params) - RESERVED_NAMES if not self._reads(name)))

    def known_params(self) -> set[str]:
        """Returns all parameters that a text rendered so far can have read."""
        return set(self.parameters())

    def parameters(self) -> dict[str, Any]:
        """Returns all parameters that a text rendered so far can have read, with their constant defaults.

        The default is None if there is none, or if it is not constant.
        """
        known: dict[str, Any] = {}
        texts, seen = list(self._texts), set(self._texts)
        while texts:
            references = self._analyze(texts.pop())
            for name in references.variables:
                if known.get(name) is None:
                    known[name] = references.defaults.get(name)
            included = [
                loaded[0] for name in references.included if (loaded := self._include(name)) is not None
            ]
            texts += [text for text in included if text not in seen]
            seen.update(included)
        return known

    def _reads(self, name: str) -> bool:
        # Analyzing a text takes as long as rendering it, and most texts do not contain the name.
        holding = (text for text in self._texts if name in text)
        return any(name in self._analyze(text).variables for text in holding) or name in self.known_params()

    def _analyze(self, text: str) -> _References:
        """Finds all variables that are read but not set, and all included files, rendered or not."""
        if text not in self._analyzed:
            variables: set[str] = set()
            included: list[str] = []
            defaults: dict[str, Any] = {}
            # Rendering reports a malformed template if it reaches it; other malformed templates are ignored.
            with contextlib.suppress(jinja2.TemplateError):
                tree = _ANALYSIS.parse(text)
                variables = jinja2.meta.find_undeclared_variables(tree) - _NOT_PARAMETERS
                included = [name for name in jinja2.meta.find_referenced_templates(tree) if name]
                defaults = _constant_defaults(tree)
            self._analyzed[text] = _References(variables, included, defaults)
        return self._analyzed[text]

    def _globals(self) -> dict[str, Any]:
        return {
            **self._params,
            "build_flavor": self._options.build_flavor,
            "serverless_operator": self._options.serverless_operator,
        }

    def _render(self, environment: jinja2.Environment, assembled: AssembledText) -> str:
        text = assembled.text
        try:
            return environment.from_string(text).render()
        except TrackError:
            raise
        except Exception as cause:  # a template can raise any error, such as ZeroDivisionError
            raise self._describe_error(assembled, cause) from cause
        finally:
            self._texts.append(text)

    def _include(self, name: str) -> tuple[str, str, Callable[[], bool]] | None:
        path = self._source.root / name
        return (self._source.read(path), str(path), lambda: True) if path.is_file() else None

    def _glob(self, pattern: str) -> list[str]:
        paths = self._source.glob(self._source.root, pattern)
        return [self._source.display_path(path) for path in paths]

    def _describe_error(self, assembled: AssembledText, cause: Exception) -> TrackError:
        location = _error_location(cause)
        if location.file is None:
            origin = assembled.origin(location.line)
        else:
            origin = SourceLocation(location.file, location.line)
        kind = (
            "not a valid template" if isinstance(cause, jinja2.TemplateSyntaxError) else "cannot be rendered"
        )
        reason = _reason(cause)
        return TrackError(
            f"{self._source.display_path(origin.file)}, line {origin.line}: {kind}: {reason}",
            hint="parameters are given with --track-params" if "undefined" in reason else "",
        )


def _constant_defaults(tree: jinja2.nodes.Template) -> dict[str, Any]:
    """Returns the constant values of the filter `default`, by the variable that it is applied to."""
    return {
        default_filter.node.name: default_filter.args[0].value
        for default_filter in tree.find_all(jinja2.nodes.Filter)
        if default_filter.name in ("default", "d")
        and isinstance(default_filter.node, jinja2.nodes.Name)
        and default_filter.args
        and isinstance(default_filter.args[0], jinja2.nodes.Const)
    }


def unused_params_message(unused: tuple[str, ...], known: set[str]) -> str:
    """Returns the message that the track does not use these parameters, with similar names that it uses."""
    names = [f"{quoted(name)}{did_you_mean(name, known)}" for name in unused]
    return f"the track does not use the parameter{'s' if len(names) > 1 else ''} {', '.join(names)}"


def _reason(cause: Exception) -> str:
    if isinstance(cause, jinja2.TemplateNotFound):
        return f"there is no file {quoted(str(cause.name))} in the track's folder"
    if isinstance(cause, jinja2.TemplateError):
        return (cause.message or "").rstrip(".")
    return f"{type(cause).__name__}: {cause}"


class _ErrorLocation(NamedTuple):
    """The origin of an error."""

    file: Path | None
    line: int


def _error_location(cause: Exception) -> _ErrorLocation:
    """Returns the included file and the line of an error; without a file, the line of the assembled text."""
    if isinstance(cause, jinja2.TemplateSyntaxError):
        return _ErrorLocation(Path(cause.filename) if cause.filename else None, cause.lineno)
    file, line = None, 1
    frame = cause.__traceback__
    while frame is not None:
        name = frame.tb_frame.f_code.co_filename
        if name == "<template>":
            file, line = None, frame.tb_lineno
        elif "__jinja_exception__" in frame.tb_frame.f_globals and name != _HELPER_FILE:
            file, line = Path(name), frame.tb_lineno
        frame = frame.tb_next
    return _ErrorLocation(file, line)


def _load_helpers(name: str) -> tuple[str, str, Callable[[], bool]] | None:
    return (_HELPERS, _HELPER_FILE, lambda: True) if name in _HELPER_NAMES else None


# Without globals: Jinja treats globals as declared, and parameters are globals during rendering.
_ANALYSIS = jinja2.Environment()
_ANALYSIS.filters.update(DATE_FILTERS)

_HELPER_LOADER = jinja2.FunctionLoader(_load_helpers)
