"""Variants of the command line in place of those of a file."""

import tomllib

import pytest

from pacenote.errors import UsageError
from pacenote.lab.experiment.given_variants import with_given_variants
from pacenote.lab.experiment.recipes import find_recipe
from pacenote.model.experiment import Options

FILE = """\
# About the file.
question = \"\"\"Which
one?\"\"\"
blocks = 4

[variants.a]
car = "4gheap"

[race]
# The track.
track = "http_logs"

[variants]
b = {car-params = {heap_size = "1g"}}
"""


class Check:
    """Knows a car and the options that repeat."""

    def problem(self, name: str, value: object) -> str | None:
        return None if name in ("car", "jvm", "set") else f"`pacenote race` has no option {name}"

    def conflict(self, options: Options) -> str | None:
        return None

    def table(self, name: str, text: str) -> dict[str, object] | None:
        return None

    def needs_new_engine(self, name: str, value: object) -> bool:
        return True


def replaced(baseline: str, *contenders: str, text: str = FILE) -> dict[str, object]:
    return tomllib.loads(with_given_variants(text, "f.toml", baseline, contenders, Check()))


def test_variants_and_question_are_replaced_and_the_rest_stays() -> None:
    assert replaced("car=1gheap", "car=2gheap") == {
        "question": "Is car=2gheap better than car=1gheap?",
        "blocks": 4,
        "race": {"track": "http_logs"},
        "variants": {"1gheap": {"car": "1gheap"}, "2gheap": {"car": "2gheap"}},
    }


def test_the_baseline_is_the_first_variant() -> None:
    assert list(replaced("car=z", "car=b", "car=a")["variants"]) == ["z", "b", "a"]  # type: ignore[call-overload]


def test_options_that_can_be_repeated_become_lists() -> None:
    variants = replaced("--car=1gheap", "--car=1gheap --jvm=-Xss2m jvm='-Da=b c' set=index.codec=zstd")[
        "variants"
    ]
    assert variants == {
        "1gheap": {"car": "1gheap"},
        "1gheap--Xss2m--Da-b-c-index.codec-zstd": {
            "car": "1gheap",
            "jvm": ["-Xss2m", "-Da=b c"],
            "set": ["index.codec=zstd"],
        },
    }


def test_sides_whose_values_give_no_names_are_named_by_their_part() -> None:
    assert list(replaced("car=a", "car=A")["variants"]) == ["baseline", "contender"]  # type: ignore[call-overload]
    assert list(replaced("car=ä", "car=b", "car=c")["variants"]) == [  # type: ignore[call-overload]
        "baseline",
        "contender-1",
        "contender-2",
    ]


def test_a_bundled_pair_takes_other_variants() -> None:
    text = find_recipe("heap-size").text
    before, after = tomllib.loads(text), replaced("car=1gheap", "car=2gheap", text=text)
    assert after["race"] == before["race"]
    assert after["looks"] == before["looks"]


@pytest.mark.parametrize(
    ("baseline", "contender", "message"),
    [
        ("", "car=a", "--baseline is missing"),
        ("1gheap", "car=a", "--baseline: '1gheap' is not an option of a race with a value"),
        ("car=a", "car=b car=c", "--contender: car is given twice"),
        ("car=a", "cra=b", "--contender: `pacenote race` has no option cra"),
        ("seed=1", "car=b", "--baseline: seed cannot be given here"),
        ("car=a", "--car=a", "--baseline and --contender are both --car=a"),
        ("car=a", "car='b", "--contender: No closing quotation in car='b"),
    ],
)
def test_sides_that_are_not_options_are_refused(baseline: str, contender: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        replaced(baseline, contender)


def test_a_baseline_needs_a_contender() -> None:
    with pytest.raises(UsageError, match="--contender is missing"):
        replaced("car=a")


def test_other_designs_are_refused() -> None:
    with pytest.raises(UsageError, match="is a 'ladder'"):
        replaced("car=a", "car=b", text='design = "ladder"')
