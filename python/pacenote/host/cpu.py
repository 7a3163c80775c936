"""Facts about the processor: frequency, threads of cores, instructions, mitigations."""

from __future__ import annotations

import re
from pathlib import Path

from pacenote.host.facts import Facts, combined, names_in, read_text

_VECTOR_FLAGS = (
    *("sse4_2", "avx", "avx2", "avx512f", "avx512_vnni", "avx512_bf16", "avx_vnni", "amx_tile"),
    *("asimd", "sve", "sve2", "vx", "vxe", "vxe2", "dflt"),
)
"""Instruction sets that Lucene, Java or zlib use."""

_CPU = re.compile(r"cpu\d+")


def read_cpu(facts: Facts, proc: Path, sys: Path) -> None:
    """Adds the facts of the processor."""
    cpu = sys / "devices/system/cpu"
    for name in ("online", "isolated", "nohz_full"):
        facts.optional(f"cpu.{name}", cpu / name)
    for name in ("active", "control"):
        facts.optional(f"cpu.threads_of_cores.{name}", cpu / "smt" / name)
    facts.optional("cpu.numa_nodes", sys / "devices/system/node/online")
    _read_frequency(facts, cpu)
    for name in ("current_driver", "current_governor"):
        facts.optional(f"cpu.idle.{name}", cpu / "cpuidle" / name)
    for name in names_in(cpu / "vulnerabilities"):
        facts.optional(f"cpu.vulnerability.{name}", cpu / "vulnerabilities" / name)
    _read_cpuinfo(facts, proc / "cpuinfo")


def _read_frequency(facts: Facts, cpu: Path) -> None:
    names = ("scaling_driver", "scaling_governor", "scaling_min_freq", "scaling_max_freq")
    for name in (*names, "energy_performance_preference"):
        values = []
        for folder in names_in(cpu):
            if not _CPU.fullmatch(folder):
                continue
            try:
                values.append(read_text(cpu / folder / "cpufreq" / name))
            except OSError:
                continue
        if values:
            facts.set(f"cpu.{name}", combined(values))
        elif name == "scaling_governor":
            reason = "the kernel does not control the frequency, as on most virtual machines"
            facts.unread(f"cpu.{name}", reason if names_in(cpu) else f"{cpu} cannot be read")
    facts.optional("cpu.intel_pstate.status", cpu / "intel_pstate/status")
    facts.optional("cpu.intel_pstate.no_turbo", cpu / "intel_pstate/no_turbo")
    facts.optional("cpu.boost", cpu / "cpufreq/boost")


def _read_cpuinfo(facts: Facts, path: Path) -> None:
    text = facts.text("cpu.vector_instructions", path)
    if text is None:
        return
    fields: dict[str, str] = {}
    for line in text.splitlines():
        key, _, value = line.partition(":")
        fields.setdefault(key.strip().lower(), value.strip())
    facts.set("cpu.microcode", fields.get("microcode"))
    # x86; Arm and s390x call them features.
    flags = set((fields.get("flags") or fields.get("features") or "").split())
    facts.set("cpu.vector_instructions", " ".join(flag for flag in _VECTOR_FLAGS if flag in flags) or None)
