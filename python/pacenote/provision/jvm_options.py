"""JVM options that Pacenote adds, chosen by the JVM."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from pacenote.provision.java import JavaRuntime

G1_OPTIONS = ("-XX:+UseG1GC", "-XX:G1ReservePercent=25", "-XX:InitiatingHeapOccupancyPercent=30")
"""The garbage collector of the official archives, with their options."""

GC_LOG_DECORATIONS = "utctime,uptimenanos,level,tags"
"""What each line of HotSpot's GC log begins with."""

GC_LOG_ROTATION = "filecount=9,filesize=16m"
"""How many older files of HotSpot's GC log are kept, and how large each becomes."""

_OPENJ9_ROTATION = "10,2500"
"""Number of files of OpenJ9's GC log, and the collections in each: about 6 kB per collection, so 16 MB."""

LOGS = "{logs}"
"""What stands for the folder of a node's logs in the JVM options of a car."""

_SELECTS_COLLECTOR = re.compile(r"-XX:\+Use\w+GC$|-Xgcpolicy:")


def selects_collector(option: str) -> bool:
    """Returns whether an option selects a garbage collector."""
    return _SELECTS_COLLECTOR.match(option) is not None


def merge_jvm_options(options: Iterable[str], added: Iterable[str]) -> tuple[str, ...]:
    """Returns options followed by others, whose garbage collector replaces theirs.

    Of other flags, a JVM uses the last value by itself, and some add up.
    """
    added = tuple(added)
    collects = any(map(selects_collector, added))
    kept = [option for option in options if not (collects and selects_collector(option))]
    return (*kept, *added)


def default_collector(java: JavaRuntime, options: Iterable[str]) -> tuple[str, ...]:
    """Returns the options of G1, unless `options` select a garbage collector or the JVM is OpenJ9, which does
    not have it.
    """
    return () if java.is_openj9 or any(map(selects_collector, options)) else G1_OPTIONS


def crash_report_options(java: JavaRuntime, logs: Path) -> tuple[str, ...]:
    """Returns the option for the file with the report about a crash; OpenJ9 has none, and writes its dumps to
    the working directory.
    """
    return () if java.is_openj9 else (f"-XX:ErrorFile={logs}/hs_err_pid%p.log",)


def gc_log_options(java: JavaRuntime, logs: Path, options: Iterable[str]) -> tuple[str, ...]:
    """Returns the JVM options for the GC log with all safepoints, unless `options` configure its file.

    HotSpot's log has wall clock and uptime in each line, and keeps the last 160 MB: `gc.log` is the newest
    file, `gc.log.0` to `gc.log.8` are older. OpenJ9's keeps about as much: it writes `gc.log.001` to
    `gc.log.010`, and then overwrites the oldest one.
    """
    if java.is_openj9:
        if any(option.startswith("-Xverbosegclog") for option in options):
            return ()
        return (f"-Xverbosegclog:{logs}/gc.log.%seq,{_OPENJ9_ROTATION}",)
    files = tuple(f":file={folder}/gc.log:" for folder in (logs, LOGS))
    if any(option.startswith("-Xlog:") and file in option for option in options for file in files):
        return ()
    tags = "gc*=info,gc+age*=trace,safepoint=info"
    return (f"-Xlog:{tags}:file={logs}/gc.log:{GC_LOG_DECORATIONS}:{GC_LOG_ROTATION}",)
