"""The bundled experiments, and how they fit their heaps to the machine."""

import tomllib

import pytest

from pacenote.lab.experiment.recipes import bundled_experiments, find_recipe, with_heaps

GIB = 1 << 30
TEXT = '# Follows: S5.\n# Not reproduced: the track. {heaps}\n\na = "{64g}"\nb = "{32g}"\n'


@pytest.mark.parametrize(
    ("memory", "heaps"),
    [
        (256 * GIB, {"a": "64g", "b": "32g"}),
        (64 * GIB, {"a": "32g", "b": "16g"}),
        (3 * GIB, {"a": "1g", "b": "512m"}),
        (1 << 20, {"a": "256m", "b": "128m"}),
        (None, {"a": "64g", "b": "32g"}),
    ],
)
def test_heaps_have_at_most_half_of_the_memory_and_their_proportion(memory, heaps):
    assert tomllib.loads(with_heaps(TEXT, memory)) == heaps


def test_a_recipe_says_that_its_heaps_are_scaled_down():
    scaled = with_heaps(TEXT, 64 * GIB)
    assert scaled.startswith(
        "# Follows: S5.\n# Not reproduced: the track.\n"
        "# This machine has 64.0 GiB of memory, so that the heaps are 16g and 32g\n"
        "# in place of 32g and 64g.\n\n"
    )
    assert with_heaps(TEXT, 256 * GIB).startswith("# Follows: S5.\n# Not reproduced: the track.\n\n")


def test_every_recipe_has_one_to_three_primary_metrics():
    for recipe in bundled_experiments():
        assert 1 <= len(tomllib.loads(recipe.text)["primary"]) <= 3, recipe.name
        assert "{" not in recipe.question + recipe.not_reproduced, recipe.name


def test_recipes_without_a_heap_of_their_own_race_with_that_of_the_noise():
    car = tomllib.loads(find_recipe("noise").text)["race"]["car"]
    for name in ("a-a", "clients", "codec", "compression", "index-buffer"):
        assert tomllib.loads(find_recipe(name).text)["race"]["car"] == car, name


def test_the_matrix_of_the_report_on_persistent_memory_is_complete():
    factors = tomllib.loads(find_recipe("data-path").text)["factors"]
    assert list(factors) == ["disk", "heap", "clients"]
    assert list(factors["clients"]) == ["c8", "c16", "c32", "c64"]
