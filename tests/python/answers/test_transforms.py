"""The known answers of the transforms come from a reference that follows the definitions."""

import pathlib

import pytest

import transform_reference

DATA = pathlib.Path(__file__).resolve().parents[2] / "data" / "transforms_v1.txt"


@pytest.mark.parametrize("log_n", (10, 13))  # the larger degrees take most of a minute
def test_known_answers_match_the_definition(log_n):
    assert transform_reference.lines(log_n) in DATA.read_text()
