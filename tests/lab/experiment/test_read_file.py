"""The file of an experiment, and all its mistakes."""

import pytest

from pacenote.errors import UsageError
from pacenote.lab.experiment.read_file import ExperimentFileError, read_experiment
from pacenote.model.experiment import Factor, Variant


class Check:
    """Knows the options of a few letters."""

    def problem(self, name, value):
        return (
            None
            if name in ("track", "car", "user-tags", "set", "jvm", "track-params")
            else f"no option {name}"
        )

    def conflict(self, options):
        return f"car {options['car']} is too large" if options.get("car") == "64gheap" else None

    def needs_new_engine(self, name, value):
        return name == "car"


def read(text):
    return read_experiment(text, "heap", "heap.toml", Check())


def mistakes(text):
    with pytest.raises(ExperimentFileError) as raised:
        read(text)
    assert raised.value.exit_code == 2
    return list(raised.value.problems) or [raised.value.message]


RACE = '[race]\ntrack = "t"\n'
VARIANTS = '[variants.a]\n[variants.b]\ncar = "2gheap"\n'


def test_a_file_is_read_completely():
    experiment = read(
        'question = "Is it?"\nblocks = 15\nlooks = true\nprecision = "1.5 %"\nsmallest-effect = "2%"\n'
        'primary = ["throughput:index"]\nseed = 7\nbudget = "1.5 h"\ncool-down = "30s"\nwarm-up = 2\n'
        + RACE
        + VARIANTS
    )
    assert (experiment.name, experiment.question, experiment.design) == ("heap", "Is it?", "pair")
    assert (experiment.blocks, experiment.looks, experiment.precision, experiment.smallest_effect) == (
        15,
        (5, 10, 15),
        0.015,
        0.02,
    )
    assert (experiment.primary, experiment.seed, experiment.warm_up) == (("throughput:index",), 7, 2)
    assert (experiment.budget_s, experiment.cool_down_s) == (5400.0, 30.0)
    assert experiment.variants == (Variant("a", {}, 13), Variant("b", {"car": "2gheap"}, 14))


def test_factors_keep_the_order_of_their_levels():
    text = (
        'design = "sweep"\n' + RACE + '[factors.heap.small]\ncar = "1g"\n[factors.heap.large]\ncar = "2g"\n'
    )
    levels = (Variant("small", {"car": "1g"}, 4), Variant("large", {"car": "2g"}, 6))
    assert read(text).factors == (Factor("heap", levels, 4),)


def test_all_mistakes_are_told_with_their_lines():
    text = (
        'desing = "pair"\nblocks = 0\n[race]\ntrak = "t"\nseed = 1\n[variants.a]\n[variants."b c"]\ncar = 1\n'
    )
    assert mistakes(text) == [
        'line 1: "desing" is not a key of an experiment (did you mean "design"?)',
        "line 2: blocks must be a whole number from 3 to 1000, not 0",
        "line 4: no option trak",
        "line 5: seed cannot be given here: give the seed of the experiment: each block has its own",
        'line 7: "b c" cannot be a name: use at most 40 letters, digits, ".", "_" and "-" ("best" is '
        "reserved)",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = [", "heap.toml is not valid TOML: "),
        ('design = "pears"\n' + RACE + VARIANTS, 'line 1: design cannot be "pears" (did you mean "pair"?)'),
        ("blocks = true\n" + RACE + VARIANTS, "line 1: blocks must be a whole number from 3 to 1000"),
        (
            'blocks = "many"\n' + RACE + VARIANTS,
            'line 1: blocks must be a whole number from 3 to 1000, not "',
        ),
        ("blocks = 2\n" + RACE + VARIANTS, "line 1: blocks must be a whole number from 3 to 1000, not 2"),
        (
            'blocks = 4\nprecision = "2 %"\n' + RACE + VARIANTS,
            "line 2: a precision needs at least 5 blocks",
        ),
        ("looks = [2, 10]\n" + RACE + VARIANTS, "line 1: looks must be numbers of blocks in ascending"),
        (RACE + 'user-tags = "a:b"\n' + VARIANTS, "line 3: user-tags must be a table, not "),
        ('budget = "soon"\n' + RACE + VARIANTS, 'line 1: budget must be a time such as "30s"'),
        ('precision = "2"\n' + RACE + VARIANTS, 'line 1: precision must be a percentage such as "2 %"'),
        ("looks = [5, 3]\n" + RACE + VARIANTS, "line 1: looks must be numbers of blocks in ascending order"),
        ("looks = [5, 8]\n" + RACE + VARIANTS, "line 1: the last of the looks must be blocks, 10, not 8"),
        (RACE + "[variants.a]\n", 'line 3: a design "pair" needs 2 to 100 variants, not 1'),
        (RACE + VARIANTS + "[factors.x.y]\n", 'line 6: a design "pair" has variants, not factors'),
        ('design = "sweep"\n' + RACE + "[factors.x.y]\n", 'factor "x" needs at least two levels'),
        ('design = "duet"\n' + RACE + VARIANTS + "[variants.c]\n", 'a design "duet" needs 2 variants, not 3'),
        ('design = "duet"\nengine = "keep"\n' + RACE + VARIANTS, 'engine = "keep" cannot be used by a duet'),
        ('design = "screening"\n' + RACE, 'a design "screening" needs 2 to 16 factors, not 0'),
        (
            'design = "noise"\nlooks = true\n' + RACE,
            'line 2: only a design "pair" or "duet" has looks, not "noise"',
        ),
        ('engine = "keep"\n' + RACE + VARIANTS, "line 6: car needs an engine of its own"),
        (VARIANTS, "the races have no track: give track or track-path in [race]"),
        (RACE + VARIANTS.replace("2g", "64g"), 'line 4: "b": car 64gheap is too large'),
        ("race = 1\n" + VARIANTS, "line 1: race must be a table, not 1"),
        (RACE + "[variants]\na = 1\nb = 2\n", "line 4: variants.a must be a table"),
    ],
)
def test_a_mistake_is_told(text, expected):
    assert any(expected in problem for problem in mistakes(text))


FACTORS = 'design = "matrix"\n' + RACE


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            FACTORS + "[factors.x]\na.car = '1g'\nb.car = '2g'\n[factors.y]\nc.car = 'z'\nd = {}\n",
            'line 7: factors "x" and "y" both give car, so that one would replace the other',
        ),
        (
            FACTORS + "[factors.x]\na.set = ['u=1']\nb.set = 'u=2'\n[factors.y]\nc.set = ['u=3']\nd = {}\n",
            'factors "x" and "y" both give set.u, ',
        ),
        (
            FACTORS
            + "[factors.x]\na.track-params.n = 1\nb = {}\n[factors.y]\nc.track-params.n = 3\nd = {}\n",
            'factors "x" and "y" both give track-params.n, ',
        ),
        (
            RACE + 'track-params = "n:1"\n[variants.a]\n[variants.b]\ntrack-params = {m = 1}\n',
            'line 5: "b": track-params has another form in [race]: write both as tables',
        ),
        (
            'design = "ladder"\n'
            + RACE
            + "[variants.a]\n[variants.b]\ncar = '2g'\n[variants.c]\ncar = 'zgc'\n",
            'line 7: steps "b" and "c" both give car, so that one would replace the other: write lists',
        ),
        (
            'design = "ladder"\n' + RACE + "[variants.a]\ncar = '1g'\n[variants.b]\ncar = ['zgc']\n",
            'line 6: car has two forms in the steps "a" and "b"',
        ),
    ],
)
def test_options_that_would_replace_each_other_are_refused(text, expected):
    assert any(expected in problem for problem in mistakes(text))


def test_what_is_joined_or_meant_to_be_replaced_is_no_mistake():
    levels = "[factors.x]\na.set = ['u=1']\nb.set = ['u=2']\n[factors.y]\nc.set = ['v=3']\nd.jvm = ['-Xa']\n"
    assert len(read(FACTORS + levels).factors) == 2
    steps = "[variants.a]\ncar = '1g'\n[variants.b]\ncar = '2g'\n[variants.c]\nset = 'v=1'\n"
    assert len(read('design = "ladder"\n' + RACE + "set = ['u=1']\n" + steps).variants) == 3


@pytest.mark.parametrize("table", ["variants.v{}", "factors.f.l{}", "factors.f{}.low"])
def test_too_many_variants_are_refused_before_they_are_checked(table):
    text = "".join(f"[{table.format(number)}]\ncar = 1\n" for number in range(2000))
    with pytest.raises(UsageError) as caught:
        read_experiment(text, "many", "many.toml", None)
    assert caught.value.message == "many.toml: 2,000 variants and levels are too many: at most 1,000"


def test_impossible_numbers_of_races_are_refused():
    levels = "".join(f"[factors.f{at}.l{level}]\n" for at in range(7) for level in range(4))
    assert mistakes('design = "matrix"\n' + RACE + levels) == [
        "heap.toml: 49,152 races are too many: at most 10,000"
    ]


@pytest.mark.parametrize(
    "value", ["1979-05-27", "{a = 1979-05-27}", "[07:32:00]", "{a = [{b = 0001-01-01T00:00:00Z}]}"]
)
def test_dates_are_no_values_of_options(value):
    message = "track-params must consist of texts, numbers, true and false, not of dates"
    assert mistakes(f"{RACE}track-params = {value}\n{VARIANTS}") == [f"heap.toml: line 3: {message}"]
    text = f"{RACE}[variants.a]\n[variants.b]\ntrack-params = {value}\n"
    assert mistakes(text) == [f"heap.toml: line 5: {message}"]
