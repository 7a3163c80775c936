"""Rendering the text of a track with Jinja2, in the environment that Rally's tracks expect.

Undefined variables are lenient (empty, false). Track parameters are globals; Rally's own globals `now`,
`glob`, `build_flavor` and `serverless_operator` win over them. Bodies of indices and templates get the
parameters, the two flavors and the helpers, but no `now`, no date filters and no files to include.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
import jinja2.defaults
import jinja2.meta

from pacenote.errors import TrackError
from pacenote.model.messages import did_you_mean, quoted
from pacenote.track.dates import DATE_FILTERS
from pacenote.track.includes import AssembledText, assemble
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
"""Names that Rally gives to templates itself, so that no parameter can be called so."""

_NOT_PARAMETERS = RESERVED_NAMES | {"rally", "benchmark", *jinja2.defaults.DEFAULT_NAMESPACE}


@dataclass(frozen=True, slots=True)
class RenderOptions:
    """What rendering depends on beside text and parameters.

    `now` is the time in seconds since 1970 that the track sees. `ignore_unused` lets parameters pass that
    no part of the track reads.
    """

    now: float
    build_flavor: str = "default"
    serverless_operator: bool = False
    ignore_unused: bool = False


class Renderer:
    """Renders the files of one track, and remembers them to tell which parameters they can be given."""

    def __init__(self, source: TrackSource, params: Mapping[str, Any], options: RenderOptions) -> None:
        self._source = source
        self._params = params
        self._options = options
        self._read: list[str] = []
        self._analysed: dict[str, tuple[set[str], list[str]]] = {}

    def track(self, assembled: AssembledText) -> str:
        """The rendered text of the track. Raises `TrackError` with file and line of the fragment at fault."""
        loaders = [_HELPER_LOADER, jinja2.FunctionLoader(self._include)]
        environment = jinja2.Environment(loader=jinja2.ChoiceLoader(loaders))
        environment.globals.update(self._globals(), now=self._options.now, glob=self._glob)
        environment.filters.update(DATE_FILTERS)
        return self._render(environment, assembled)

    def body(self, file: Path) -> str:
        """The rendered text of an index or template body. Raises `TrackError` with file and line."""
        environment = jinja2.Environment(loader=_HELPER_LOADER)
        environment.globals.update(self._globals())
        return self._render(environment, assemble(self._source, file))

    def unused(self) -> tuple[str, ...]:
        """Parameters that nothing rendered so far can have read, sorted."""
        return tuple(sorted(name for name in set(self._params) - RESERVED_NAMES if not self._reads(name)))

    def known(self) -> set[str]:
        """Every parameter that something rendered so far can have read."""
        known: set[str] = set()
        texts, seen = list(self._read), set(self._read)
        while texts:
            variables, included = self._analyse(texts.pop())
            known |= variables
            found = [loaded[0] for name in included if (loaded := self._include(name)) is not None]
            texts += [text for text in found if text not in seen]
            seen.update(found)
        return known

    def _reads(self, name: str) -> bool:
        # Analysing a text costs as much as rendering it, and most do not even hold the name.
        holding = (text for text in self._read if name in text)
        return any(name in self._analyse(text)[0] for text in holding) or name in self.known()

    def _analyse(self, text: str) -> tuple[set[str], list[str]]:
        """Every variable that is read and not set, and what is included by name, reached or not."""
        if text not in self._analysed:
            variables: set[str] = set()
            included: list[str] = []
            # Rendering has reported what is no template, or never reached it.
            with contextlib.suppress(jinja2.TemplateError):
                tree = _ANALYSIS.parse(text)
                variables = jinja2.meta.find_undeclared_variables(tree) - _NOT_PARAMETERS
                included = [name for name in jinja2.meta.find_referenced_templates(tree) if name]
            self._analysed[text] = (variables, included)
        return self._analysed[text]

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
        except Exception as cause:  # besides Jinja's own errors a template can raise anything, such as 1 / 0
            raise self._explained(assembled, cause) from cause
        finally:
            self._read.append(text)

    def _include(self, name: str) -> tuple[str, str, Callable[[], bool]] | None:
        path = self._source.root / name
        return (self._source.read(path), str(path), lambda: True) if path.is_file() else None

    def _glob(self, pattern: str) -> list[str]:
        found = self._source.glob(self._source.root, pattern)
        return [self._source.display_path(path) for path in found]

    def _explained(self, assembled: AssembledText, cause: Exception) -> TrackError:
        file, line = _blamed(cause)
        if file is None:
            origin = assembled.origin(line)
            file, line = origin.file, origin.line
        kind = "no valid template" if isinstance(cause, jinja2.TemplateSyntaxError) else "cannot be rendered"
        reason = _reason(cause)
        return TrackError(
            f"{self._source.display_path(file)}, line {line}: {kind}: {reason}",
            hint="parameters are given with --track-params" if "undefined" in reason else "",
        )


def unused_params_message(unused: tuple[str, ...], known: set[str]) -> str:
    """The problem that parameters were given which no part of the track reads, with what may have been
    meant.
    """
    named = [f"{quoted(name)}{did_you_mean(name, known)}" for name in unused]
    return f"the track does not use the parameter{'s' if len(named) > 1 else ''} {', '.join(named)}"


def _reason(cause: Exception) -> str:
    if isinstance(cause, jinja2.TemplateNotFound):
        return f"there is no file {quoted(str(cause.name))} in the track's folder"
    if isinstance(cause, jinja2.TemplateError):
        return (cause.message or "").rstrip(".")
    return f"{type(cause).__name__}: {cause}"


def _blamed(cause: Exception) -> tuple[Path | None, int]:
    """The included file and the line an error comes from; no file means the assembled text."""
    if isinstance(cause, jinja2.TemplateSyntaxError):
        return (Path(cause.filename) if cause.filename else None), cause.lineno
    file, line = None, 1
    frame = cause.__traceback__
    while frame is not None:
        name = frame.tb_frame.f_code.co_filename
        if name == "<template>":
            file, line = None, frame.tb_lineno
        elif "__jinja_exception__" in frame.tb_frame.f_globals and name != _HELPER_FILE:
            file, line = Path(name), frame.tb_lineno
        frame = frame.tb_next
    return file, line


def _load_helpers(name: str) -> tuple[str, str, Callable[[], bool]] | None:
    return (_HELPERS, _HELPER_FILE, lambda: True) if name in _HELPER_NAMES else None


# Without globals: Jinja counts a global as declared, and when rendering, parameters are globals.
_ANALYSIS = jinja2.Environment()
_ANALYSIS.filters.update(DATE_FILTERS)

_HELPER_LOADER = jinja2.FunctionLoader(_load_helpers)
