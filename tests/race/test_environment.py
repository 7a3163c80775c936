"""Information about the driver's host."""

import pytest

from pacenote.race.environment import (
    parse_cpu_model,
    parse_load,
    parse_memory,
    parse_physical_cores,
    read_environment,
)

X86 = """processor\t: 0
vendor_id\t: GenuineIntel
cpu family\t: 6
model\t\t: 85
model name\t: Intel(R) Xeon(R)   Processor @ 2.60GHz
physical id\t: 0
core id\t\t: 0

processor\t: 1
model\t\t: 85
physical id\t: 0
core id\t\t: 0

processor\t: 2
model\t\t: 85
physical id\t: 0
core id\t\t: 1
"""
ARM = "processor\t: 0\nBogoMIPS\t: 50.00\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n"
POWER = "processor\t: 0\ncpu\t\t: POWER9 (architected), altivec supported\nrevision\t: 2.2\n"
S390X = "vendor_id       : IBM/S390\nprocessor 0: version = FF,  identification = 0A,  machine = 8561\n"


@pytest.mark.parametrize(
    ("text", "model"),
    [
        (X86, "Intel(R) Xeon(R) Processor @ 2.60GHz"),
        (ARM, "Arm Neoverse N1"),
        (ARM.replace("0xd0c", "0xfff"), "Arm part 0xfff"),
        (ARM.replace("0x41", "0x99"), "implementer 0x99 part 0xd0c"),
        (POWER, "POWER9 (architected), altivec supported"),
        (S390X, "IBM/S390 machine 8561"),
        ("", None),
        ("nonsense", None),
        ("CPU implementer: x\nCPU part: y\n", None),
    ],
)
def test_cpu_models_are_parsed(text, model):
    assert parse_cpu_model(text) == model


def test_physical_cores_are_counted():
    assert parse_physical_cores(X86) == 2
    assert parse_physical_cores(ARM) is None


def test_memory_is_converted_to_bytes():
    assert parse_memory("MemTotal:        2048 kB\nMemFree: 1 kB\n") == 2 * 1024 * 1024
    assert parse_memory("MemFree: 1 kB\n") is None


def test_load_averages_are_parsed():
    assert parse_load("0.39 0.51 1.06 3/114 13018\n") == (0.39, 0.51, 1.06)
    assert parse_load("") is None
    assert parse_load("a b c") is None


def test_values_from_unreadable_files_are_none(tmp_path):
    environment = read_environment(tmp_path)
    assert environment.memory_bytes is None
    assert environment.python
    (tmp_path / "cpuinfo").write_text(X86)
    assert read_environment(tmp_path).cpu_model == "Intel(R) Xeon(R) Processor @ 2.60GHz"
