"""The file with the knobs of a search, and all its mistakes."""

import pytest

from pacenote.lab.tune.knob_file import BUNDLED, KnobFileError, heap_bytes, read_knobs
from pacenote.model.tune import Knob

HEAP = '[knobs.heap]\noption = "car-params.heap_size"\nvalues = ["1g", "2g"]\n'


class Check:
    """Knows the options of a few letters."""

    def problem(self, name, value):
        known = ("car-params", "track-params", "set", "jvm", "car")
        return None if name in known else f"no option {name}"

    def conflict(self, options):
        return "no such heap" if options.get("car-params") == {"heap_size": "3g"} else None

    def needs_new_engine(self, name, value):
        return name == "car-params"


def read(text):
    return read_knobs(text, "knobs.toml", {"track": "t"}, Check())


def mistakes(text):
    with pytest.raises(KnobFileError) as raised:
        read(text)
    assert raised.value.exit_code == 2
    return list(raised.value.problems) or [raised.value.message]


def test_a_file_is_read_completely():
    (knob,) = read(HEAP + 'ordered = true\ndefault = "1g"\nsource = "manual"\ndurability = true\n')
    assert knob == Knob(
        "heap", "car-params.heap_size", ("1g", "2g"), "1g", True, "manual", durability=True, line=1
    )
    # The default leaves the option alone.
    assert knob.levels == (None, "2g")
    assert read(HEAP)[0].levels == (None, "1g", "2g")


def test_a_range_has_steps():
    text = '[knobs.bulk]\noption = "track-params.bulk_size"\nlow = {}\nhigh = {}\n'
    assert read(text.format(1, 5))[0].values == (1, 2, 3, 4, 5)
    assert read(text.format(100, 10000) + "log = true\nsteps = 3\n")[0].values == (100, 1000, 10000)
    assert read(text.format(0.5, 1.5) + "steps = 3\n")[0].values == (0.5, 1.0, 1.5)
    knob = read(text.format(10, 30) + 'steps = 3\nunit = "%"\ndefault = "20%"\n')[0]
    assert (knob.values, knob.default, knob.is_ordered) == (("10%", "20%", "30%"), "20%", True)
    # A default between the steps is one more value.
    assert read(text.format(100, 300) + "steps = 2\ndefault = 250\n")[0].values == (100, 250, 300)


def test_all_mistakes_are_told_with_their_lines():
    assert mistakes(
        'colour = 1\n[knobs.a]\noption = "car-params.heap_size"\nvalues = []\n'
        '[knobs.b]\noption = "heap"\nvalues = [1, 2]\nlows = 3\n'
        '[knobs."c d"]\noption = "set:engine.x"\nlow = 5\nhigh = 1\n'
        "[knobs.e]\nvalues = [1, 2]\ndefault = 3\ndurability = 7\n"
    ) == [
        'line 1: "colour" is not a key of a knob file: it has only [knobs.NAME]',
        'line 4: knob "a" needs a list of values, or low and high',
        'line 6: knob "b", value 1: no option heap',
        'line 8: "lows" is not a key of a knob (did you mean "low"?)',
        'line 9: "c d" cannot be a name: use at most 40 letters, digits, ".", "_" and "-"',
        "line 11: low and high must be two numbers, the lower one first",
        'line 13: knob "e" has no option, such as option = "car-params.heap_size"',
        "line 15: default must be one of 1, 2, not 3",
        "line 16: durability must be true or false, not a value of type int (7)",
    ]


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("a = [", "knobs.toml is not valid TOML"),
        ("", "the file has no knobs"),
        ("knobs = 3", "the file has no knobs"),
        ("[knobs]\nheap = 3\n", "knobs.heap must be a table, not a value of type int (3)"),
        (HEAP.replace("2g", "3g"), 'knob "heap", value 3g: no such heap'),
        (HEAP.replace("2g", "1g"), "values must be at most 20, each of them once"),
        (HEAP.replace('"2g"', "[1]"), "values must be texts, numbers, true or false"),
        (HEAP.replace('"2g"', "nan"), "values must be finite numbers"),
        (HEAP.replace(', "2g"', "") + 'default = "1g"', "values has only the default"),
        (HEAP + "log = true", "log needs low and high"),
        (HEAP + "low = 1", "give values, or low and high, not both"),
        (HEAP + HEAP.replace("heap]", "memory]"), '"memory" sets the same as "heap"'),
        ('[knobs.s]\noption = "seed"\nvalues = [1, 2]', "seed cannot be a knob"),
        ('[knobs.s]\noption = "car"\nlow = 0\nhigh = 3\nlog = true', "low must be above 0"),
        ('[knobs.s]\noption = "car"\nlow = 0\nhigh = 3\nsteps = 1', "steps must be a whole number"),
        ('[knobs.s]\noption = "car"\nlow = 0\nhigh = 3\nunit = 1', "unit text"),
        ("".join(f'[knobs.k{n}]\noption = "set:engine.a{n}"\nvalues = [1]\n' for n in range(31)), "too many"),
    ],
)
def test_a_mistake_is_told(text, mistake):
    assert mistake in mistakes(text)[0]


def test_every_bundled_knob_has_a_source_and_only_async_translogs_change_the_durability():
    knobs = read_knobs(BUNDLED.read_text("utf-8"), "bundled", {}, Check())
    assert all(knob.source for knob in knobs)
    assert [knob.name for knob in knobs if knob.durability] == ["translog-durability"]
    names = {"heap", "collector", "index-buffer", "codec", "refresh-interval", "merge-threads"}
    assert names < {knob.name for knob in knobs}


def test_settings_of_the_durability_are_recognised_without_a_word():
    (knob,) = read('[knobs.d]\noption = "set:index.translog.durability"\nvalues = ["request", "async"]\n')
    assert knob.durability


def test_sizes_of_heaps():
    assert [heap_bytes(text) for text in ("512m", "1g", "2GB", "31G", 3, "x")] == [
        512 << 20,
        1 << 30,
        2 << 30,
        31 << 30,
        None,
        None,
    ]
