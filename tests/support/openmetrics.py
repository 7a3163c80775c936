"""A strict reader of OpenMetrics text 1.0, written from the specification, for what exports contain."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field

_NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
_LABEL = r"[a-zA-Z_][a-zA-Z0-9_]*"
_VALUE = r"(?:[^\"\\\n]|\\\\|\\\"|\\n)*"
_NUMBER = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_LABELS = rf'(?:{_LABEL}="{_VALUE}"(?:,(?!\}})|(?=\}})))*'
_SAMPLE = re.compile(rf"({_NAME})(?:\{{({_LABELS})\}})? ({_NUMBER}|NaN|[+-]Inf)(?: ({_NUMBER}))?")
_PAIR = re.compile(rf'({_LABEL})="({_VALUE})"')
_META = re.compile(rf"# (TYPE|UNIT|HELP) ({_NAME}) (.*)")
_SUFFIXES = {
    "counter": ("_total", "_created"),
    "gauge": ("",),
    "info": ("_info",),
    "stateset": ("",),
    "summary": ("", "_count", "_sum", "_created"),
}
"""Types of exported families, with the ends of the names of their samples."""

Labels = frozenset[tuple[str, str]]
"""The labels of a sample."""


@dataclass(slots=True)
class Family:
    """A metric family."""

    name: str
    form: str = "unknown"
    unit: str = ""
    text: str = ""
    samples: dict[tuple[str, Labels], tuple[float, float | None]] = field(default_factory=dict)
    """Value and time by the name of the sample and its labels."""


def parse_openmetrics(text: str) -> dict[str, Family]:
    """Returns the families by name. Raises AssertionError for anything that the specification forbids."""
    lines = text.split("\n")
    assert lines[-2:] == ["# EOF", ""], "the text must end with # EOF and a line break"
    families: dict[str, Family] = {}
    last: Family | None = None
    for line in lines[:-2]:
        if line.startswith("#"):
            last = _described(line, families, last)
        else:
            assert last is not None, "a sample comes before all families"
            _add_sample(line, last)
    for family in families.values():
        _check(family)
        clashes = {f"{family.name}{suffix}" for suffix in _SUFFIXES[family.form] if suffix} & families.keys()
        assert not clashes, f"a sample of {family.name} has the name of another family: {clashes}"
    return families


def _described(line: str, families: dict[str, Family], last: Family | None) -> Family:
    match = _META.fullmatch(line)
    assert match is not None, f"not a line of OpenMetrics: {line!r}"
    kind, name, text = match.groups()
    if last is None or last.name != name:
        assert name not in families, f"the lines of {name} are interleaved"
        last = families[name] = Family(name)
    assert not last.samples, f"# {kind} of {name} comes after samples"
    attribute = {"TYPE": "form", "UNIT": "unit", "HELP": "text"}[kind]
    assert getattr(last, attribute) == getattr(Family(name), attribute), f"# {kind} of {name} comes twice"
    if kind == "HELP":
        assert re.fullmatch(_VALUE, text), f"the help of {name} is not escaped"
    setattr(last, attribute, text)
    return last


def _add_sample(line: str, family: Family) -> None:
    match = _SAMPLE.fullmatch(line)
    assert match is not None, f"not a sample of OpenMetrics: {line!r}"
    name, labels, value, time = match.groups()
    pairs = _PAIR.findall(labels or "")
    assert len({key for key, _ in pairs}) == len(pairs), f"a label comes twice: {line}"
    assert all(key.startswith("__") is False for key, _ in pairs), f"a label is reserved: {line}"
    key = (name, frozenset((label, _unescaped(text)) for label, text in pairs))
    assert key not in family.samples, f"a sample comes twice: {line}"
    family.samples[key] = (float(value), None if time is None else float(time))


def _unescaped(text: str) -> str:
    escapes = {"\\\\": "\\", '\\"': '"', "\\n": "\n"}
    return re.sub(r"\\.", lambda found: escapes[found[0]], text)


def _check(family: Family) -> None:
    name, suffixes = family.name, _SUFFIXES[family.form]
    assert family.samples, f"{name} has no sample"
    assert not family.unit or name.endswith(f"_{family.unit}"), f"{name} does not end with its unit"
    assert family.form not in ("info", "stateset") or not family.unit, f"{name} has a unit"
    for (sample, labels), (value, _) in family.samples.items():
        suffix = sample.removeprefix(name)
        assert sample.startswith(name), f"{sample} is no sample of {name}"
        assert suffix in suffixes, f"{sample} is no sample of the {family.form} {name}"
        own = dict(labels)
        if family.form in ("counter", "summary") and suffix:
            assert value >= 0, f"{sample} is negative"
            assert math.isfinite(value), f"{sample} is not a number"
        if family.form == "summary":
            assert ("quantile" in own) == (suffix == ""), f"{sample} has a wrong quantile"
            assert 0 <= float(own.get("quantile", 0)) <= 1, f"{sample} has a wrong quantile"
        if family.form == "info":
            assert value == 1, f"{sample} is not 1"
        if family.form == "stateset":
            assert value in (0, 1), f"{sample} is neither 0 nor 1"
            assert name in own, f"{sample} lacks its state"
