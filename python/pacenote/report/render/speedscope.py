"""Stacks in the file format of speedscope (https://www.speedscope.app/file-format-schema.json)."""

from __future__ import annotations

import json
from typing import Any

from pacenote.model.output_text import json_escaped
from pacenote.model.printable import encodable
from pacenote.report.recording.events import Unit
from pacenote.report.recording.stack_tree import StackTree, TreeFrame

_SCHEMA = "https://www.speedscope.app/file-format-schema.json"

_UNITS: dict[Unit, str] = {"bytes": "bytes", "ns": "nanoseconds", "samples": "none"}


def render_speedscope(tree: StackTree, title: str, unit: Unit) -> str:
    """Returns one profile with all stacks, or one for each side if the tree has a baseline.

    The stacks are not in the order of time: each has the weight of all events with it.
    """
    frames: dict[TreeFrame, int] = {}
    stacks: list[list[int]] = []
    weights: list[tuple[int, int]] = []
    for path, node in tree.paths():
        stacks.append([frames.setdefault(frame, len(frames)) for frame in path])
        weights.append((node.own, node.own_baseline))
    names = ("contender", "baseline") if tree.has_baseline else (title,)
    document = {
        "$schema": _SCHEMA,
        "name": encodable(title),
        "exporter": "pacenote",
        "activeProfileIndex": 0,
        "shared": {"frames": [{"name": encodable(frame.name)} for frame in frames]},
        "profiles": [
            _profile(encodable(name), _UNITS[unit], stacks, [weight[side] for weight in weights])
            for side, name in enumerate(names)
        ],
    }
    return json_escaped(json.dumps(document, ensure_ascii=False, separators=(",", ":"))) + "\n"


def _profile(name: str, unit: str, stacks: list[list[int]], weights: list[int]) -> dict[str, Any]:
    kept = [(stack, weight) for stack, weight in zip(stacks, weights, strict=True) if weight]
    return {
        "type": "sampled",
        "name": name,
        "unit": unit,
        "startValue": 0,
        "endValue": sum(weight for _, weight in kept),
        "samples": [stack for stack, _ in kept],
        "weights": [weight for _, weight in kept],
    }
