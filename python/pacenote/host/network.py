"""Facts about network interfaces: queues, steering of packets to CPUs, rings."""

from __future__ import annotations

import fcntl
import re
import socket
import struct
from collections.abc import Iterator
from pathlib import Path

from pacenote.host.facts import Facts, combined, names_in, read_text
from pacenote.system.paths import exists, real_path

_SIOCETHTOOL = 0x8946
_ETHTOOL_GRINGPARAM = 0x10
_RING_FIELDS = 9
"""The command, the largest sizes of four rings, and their current sizes."""

_ZERO_MASK = re.compile(r"[0,]*")


def read_network(facts: Facts, sys: Path) -> None:
    """Adds the facts of the interfaces that have a device, and of the loopback interface."""
    folder = sys / "class/net"
    names = names_in(folder)
    if not names:
        facts.unread("network.*", f"{folder} lists no interfaces")
    for name in names:
        if name == "lo":
            facts.optional("network.lo.mtu", folder / "lo/mtu")
        elif exists(folder / name / "device"):
            _read_interface(facts, folder / name)


def _read_interface(facts: Facts, interface: Path) -> None:
    key = f"network.{interface.name}"
    for name in ("mtu", "operstate", "speed", "tx_queue_len"):
        # A virtual interface has no speed, and reading it is an error.
        facts.optional(f"{key}.{name}", interface / name)
    driver = interface / "device/driver"
    if exists(driver):
        facts.set(f"{key}.driver", real_path(driver).name)
    queues = names_in(interface / "queues")
    facts.set(f"{key}.rx_queues", sum(queue.startswith("rx-") for queue in queues))
    facts.set(f"{key}.tx_queues", sum(queue.startswith("tx-") for queue in queues))
    for file in ("rps_cpus", "rps_flow_cnt", "xps_cpus"):
        values = list(_queue_values(interface, file))
        facts.set(f"{key}.{file}", combined(values) if values else None)
    _read_rings(facts, key, interface.name)


def _queue_values(interface: Path, file: str) -> Iterator[str]:
    prefix = "tx-" if file == "xps_cpus" else "rx-"
    for queue in names_in(interface / "queues"):
        if queue.startswith(prefix):
            try:
                text = read_text(interface / "queues" / queue / file)
            except OSError:
                continue
            yield "0" if _ZERO_MASK.fullmatch(text) else text


def _read_rings(facts: Facts, key: str, name: str) -> None:
    """Adds the sizes of the receive and transmit rings, current and largest."""
    command = struct.pack(f"{_RING_FIELDS}I", _ETHTOOL_GRINGPARAM, *([0] * (_RING_FIELDS - 1)))
    buffer = bytearray(command)
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
            _ethtool(control, name, buffer)
    except OSError as error:
        facts.unread(f"{key}.ring.*", f"the driver does not report its rings: {error.strerror}")
        return
    values = struct.unpack(f"{_RING_FIELDS}I", buffer)
    facts.set(f"{key}.ring.rx", values[5])
    facts.set(f"{key}.ring.rx_max", values[1])
    facts.set(f"{key}.ring.tx", values[8])
    facts.set(f"{key}.ring.tx_max", values[4])


def _ethtool(control: socket.socket, name: str, buffer: bytearray) -> None:
    """Fills the buffer with what the driver of an interface reports. Raises OSError."""
    # Imported here: only a pointer to the buffer needs it.
    import ctypes

    raw = (ctypes.c_char * len(buffer)).from_buffer(buffer)
    request = struct.pack("16sP16x", name.encode()[:15], ctypes.addressof(raw))
    fcntl.ioctl(control, _SIOCETHTOOL, request)
