"""Measures the speed at which `pacenote gc` reads a verbose GC log of OpenJ9."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path

from machine import PACENOTE, run
from outcome import BenchmarkError, Figure, Options, Outcome, Target

_RAM = Path("/dev/shm")
_LIMIT = 300.0
_HEADER = """\
<?xml version="1.0" ?>

<verbosegc xmlns="http://www.ibm.com/j9/verbosegc" version="benchmark">

<initialized id="1" timestamp="2021-03-16T09:00:00.000">
  <attribute name="gcPolicy" value="-Xgcpolicy:gencon" />
  <attribute name="maxHeapSize" value="0x40000000" />
</initialized>
"""
_MEMORY = """\
  <mem-info id="16" free="414960320" total="1073741824" percent="38">
    <mem type="nursery" free="0" total="268435456" percent="0">
      <mem type="allocate" free="0" total="241565696" percent="0" />
      <mem type="survivor" free="0" total="26869760" percent="0" />
    </mem>
    <mem type="tenure" free="414960320" total="805306368" percent="51">
      <mem type="soa" free="374694592" total="765040640" percent="48" />
      <mem type="loa" free="40265728" total="40265728" percent="100" />
    </mem>
    <remembered-set count="21474" />
  </mem-info>
"""
_LABELS = 'type="scavenge" contextid="14" timestamp="2021-03-16T09:00:10.000"'
_SCAVENGE = f"""
<exclusive-start id="12" timestamp="2021-03-16T09:00:10.000" intervalms="406.180">
  <response-info timems="0.070" idlems="0.070" threads="0" lastid="00000000013D6900" lastname="write[T#1]" />
</exclusive-start>
<af-start id="13" threadId="00000000013D7280" totalBytesRequested="8200" \
timestamp="2021-03-16T09:00:10.000" intervalms="418.233" type="nursery" />
<cycle-start id="14" type="scavenge" contextid="0" timestamp="2021-03-16T09:00:10.000" intervalms="418.231" />
<gc-start id="15" {_LABELS}>
{_MEMORY}</gc-start>
<allocation-stats totalBytes="235362176" >
  <allocated-bytes non-tlh="32880" tlh="235329296" />
  <largest-consumer threadName="write[T#1]" threadId="00000000013F0C00" bytes="6288544" />
</allocation-stats>
<gc-op id="17" timems="11.649" {_LABELS}>
  <scavenger-info tenureage="7" tenuremask="4080" tiltratio="89" />
  <memory-copied type="nursery" objects="154910" bytes="6027440" bytesdiscarded="394832" />
  <memory-copied type="tenure" objects="16171" bytes="562848" bytesdiscarded="3064" />
  <ownableSynchronizers candidates="10838" cleared="10824" />
  <references type="soft" candidates="24" cleared="0" enqueued="0" dynamicThreshold="16" maxThreshold="32" />
  <references type="weak" candidates="390" cleared="269" enqueued="269" />
  <references type="phantom" candidates="1" cleared="0" enqueued="0" />
  <object-monitors candidates="132" cleared="0"  />
</gc-op>
<gc-end id="18" {_LABELS} durationms="11.785" usertimems="46.278" systemtimems="0.036" activeThreads="4">
{_MEMORY}</gc-end>
<cycle-end id="20" {_LABELS} />
<allocation-satisfied id="21" threadId="00000000013D6900" bytesRequested="8200" />
<af-end id="22" timestamp="2021-03-16T09:00:10.012" threadId="00000000013D7280" success="true" />
<exclusive-end id="23" timestamp="2021-03-16T09:00:10.012" durationms="12.319" />
"""


def measure(options: Options) -> Outcome:
    """Measures the log read per second of CPU time, including startup, and per second of wall time."""
    pauses = options.choose(150_000, 30_000)
    log = _HEADER + _SCAVENGE * pauses + "\n</verbosegc>\n"
    in_ram = _RAM.is_dir() and shutil.disk_usage(_RAM).free > 2 * len(log)
    per_cpu, per_wall = [], []
    with tempfile.TemporaryDirectory(prefix="pacenote-bench-", dir=_RAM if in_ram else None) as folder:
        path = Path(folder) / "verbosegc.log"
        path.write_text(log)
        for _ in range(options.choose(8, 2)):
            done = run([PACENOTE, "gc", str(path), "--report-format=json"])
            counted = json.loads(done.output)["logs"][0]["statistics"]["pauses"]["count"]
            if counted != pauses:
                raise BenchmarkError(f"pacenote gc found {counted} of {pauses} pauses")
            per_cpu.append(len(log) / 1e6 / done.cpu_s)
            per_wall.append(len(log) / 1e6 / done.wall_s)
    rate = Figure("log per CPU second", "MB/s", tuple(per_cpu))
    where = "a RAM disk" if in_ram else "the disk (the RAM disk was too small)"
    return Outcome(
        figures=(rate, Figure("log per wall second", "MB/s", tuple(per_wall))),
        targets=(Target(rate, _LIMIT, at_most=False),),
        notes=(f"{pauses:,} scavenges of gencon, {len(log) / 1e6:,.0f} MB, read from {where}",),
    )
