"""Knobs that are adapted to the machine, the track and the options that are given."""

from msgspec import structs
from msgspec.structs import replace

from pacenote.lab.tune.fit import Surroundings, fitted
from pacenote.lab.tune.knob_file import BUNDLED, read_knobs
from pacenote.model.tune import Knob

AROUND = Surroundings(
    {},
    {"bulk_size": 5000, "mode": None},
    8 << 30,
    has_engine=True,
    changes_durability=False,
    needs_new_engine=lambda name, _value: name == "car-params",
    selects_collector=lambda option: option.startswith("-XX:+Use"),
)
HEAP = Knob("heap", "car-params.heap_size", ("1g", "4g", "8g"), "1g", is_ordered=True)
BULK = Knob("bulk", "track-params.bulk_size", (100, 10_000), is_ordered=True)


def fit(knob, **changes):
    return fitted([knob], replace(AROUND, **changes))


def test_heaps_beyond_half_of_the_memory_are_left_out():
    usable = fit(HEAP)
    assert usable.knobs[0].values == ("1g", "4g")
    assert usable.left_out == ("heap 8g: more than half of the memory of this machine",)
    assert fit(HEAP, memory_bytes=None).knobs[0].values == HEAP.values
    assert fit(HEAP, memory_bytes=2 << 30).knobs == ()


def test_knobs_that_cannot_be_used_are_left_out():
    assert fit(structs.replace(HEAP, durability=True)).left_out == (
        "heap: it changes the durability (--change-durability)",
    )
    assert fit(structs.replace(HEAP, durability=True), changes_durability=True).knobs
    assert fit(HEAP, has_engine=False).left_out == ("heap: the cluster runs already",)
    assert fit(BULK, has_engine=False).knobs
    assert fit(structs.replace(BULK, option="track-params.size")).left_out == (
        "bulk: the track has no parameter size",
    )
    client = Knob("compress", "client-options.http_compress", (True, False))
    assert fit(client, race={"client-options": "client.json"}).left_out == (
        "compress: --client-options is given as text, which a table would replace",
    )
    assert fit(client).knobs


def test_the_default_is_that_of_the_races():
    # The track has it, and it becomes one more value.
    assert (fit(BULK).knobs[0].values, fit(BULK).knobs[0].default) == ((100, 5000, 10_000), 5000)
    assert fit(BULK, race={"track-params": {"bulk_size": 100}}).knobs[0].default == 100
    own = structs.replace(BULK, values=(100, 200), default=200)
    assert fit(own).left_out == ("bulk default 200: these races have 5000",)
    assert fit(structs.replace(own, values=(100, 5000), default=5000)).left_out == ()
    texts = Knob("mode", "track-params.mode", ("a", "b"))
    assert fit(texts).knobs[0].default is None
    knob = fit(texts, parameters={"mode": "c"}).knobs[0]
    assert (knob.values, knob.default) == (("a", "b", "c"), "c")
    # A car may set anything.
    assert fit(HEAP, race={"car": "4gheap"}).knobs[0].default is None
    assert fit(HEAP).knobs[0].default == "1g"
    setting = Knob("buffer", "set:engine.a", ("1%", "2%"), "1%")
    assert fit(setting).knobs[0].default == "1%"
    assert fit(setting, race={"set": ["engine.a=3%"]}).knobs[0].default is None


def test_options_that_are_given_are_the_defaults_of_their_knobs():
    car = Knob("car", "car", ("1gheap", "2gheap"), "1gheap")
    knob = fit(car, race={"car": "4gheap"}).knobs[0]
    assert (knob.values, knob.default) == (("1gheap", "2gheap", "4gheap"), "4gheap")
    assert fit(car).knobs[0].default == "1gheap"
    flag = Knob("flag", "on-error", (True, False))
    assert fit(flag, race={"on-error": "true"}).knobs[0].default is True


def test_the_bundled_file_knows_no_defaults_of_indices_because_tracks_set_them():
    knobs = read_knobs(BUNDLED.read_text("utf-8"), "bundled", {}, AnyOption())
    of_indices = [knob for knob in knobs if knob.option.startswith("set:index.")]
    assert of_indices
    assert {knob.default for knob in fitted(of_indices, AROUND).knobs} == {None}


class AnyOption:
    """Accepts all options."""

    def problem(self, name, value):
        return None

    def conflict(self, options):
        return None

    def needs_new_engine(self, name, value):
        return False


def test_a_collector_that_is_given_leaves_the_knob_out():
    knob = Knob("collector", "jvm", ("-XX:+UseG1GC", "-XX:+UseZGC"), "-XX:+UseG1GC")
    assert fit(knob, race={"jvm": ["-XX:+UseZGC"]}).left_out == ("collector: a collector is given (--jvm)",)
    assert fit(knob, race={"jvm": "-XX:+UseZGC"}).knobs == ()
    # Another option of the JVM does not change the collector that holds without the knob.
    assert fit(knob, race={"jvm": ["-Xss2m"]}).knobs[0].default == "-XX:+UseG1GC"
    assert fit(knob, race={"jvm": ["-Xss2m"], "car": "zgc"}).knobs[0].default is None
    stack = Knob("stack", "jvm", ("-Xss1m", "-Xss2m"), "-Xss1m")
    assert fit(stack, race={"jvm": ["-Xss4m"]}).knobs[0].default is None


def test_tables_that_are_given_as_text_are_not_replaced():
    knob = Knob("plugin", "plugin-params.b", (1, 2))
    assert fit(knob, race={"plugin-params": "a:1"}).knobs == ()
    assert fit(knob, race={"plugin-params": {"a": 1}}).knobs
