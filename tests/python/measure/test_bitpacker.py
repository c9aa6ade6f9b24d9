"""`latticino bench bitpacker`: counts by the size of words, which programs run, and the picture."""

import json
import math

import pytest
from test_bench import fake as stand_ins

from latticino import cli
from latticino.measure import bitpacker, packing_counts, programs

fake = stand_ins  # the fixture of stand-ins for programs


@pytest.mark.parametrize("n", [2, 37, 786433, 268369921, 2**61 - 1, 18446744073709551557])
def test_primes_are_recognised(n):
    assert packing_counts.is_prime(n)


@pytest.mark.parametrize("n", [0, 1, 4, 25, 3215031751, 3825123056546413051, 2**61 - 3, 18446744073709551556])
def test_composites_are_not_primes(n):
    """These include strong pseudoprimes to the first bases."""
    assert not packing_counts.is_prime(n)


@pytest.mark.parametrize("word", [28, 31, 32, 44, 64])
@pytest.mark.parametrize("schedule", packing_counts.schedules(), ids=lambda s: s.name)
def test_packed_levels_have_the_moduli_that_are_asked_for(schedule, word):
    """Distinct primes below the word, at most four terminals, the modulus within half a bit, and no fewer limbs than
    its bits take."""
    packer = packing_counts.Packer(word, schedule.log_q[-1])
    for log_q in schedule.log_q:
        level = packer.level(log_q)
        primes = [*packer.mains[:level.mains], *level.terminals]
        assert len(set(primes)) == len(primes) == level.limbs and len(level.terminals) <= 4
        assert all(q < 2**word and q % 2**17 == 1 and packing_counts.is_prime(q) for q in primes)
        assert abs(sum(map(math.log2, primes)) - log_q) <= 0.5 + 1e-9
        assert math.ceil((log_q - 0.5) / word) <= level.limbs <= math.ceil(log_q / word) + 2


def test_unpacked_levels_have_primes_of_their_own():
    schedule = packing_counts.Schedule("two", (55.0, 90.0, 125.0), (35.0, 35.0), 1)
    assert packing_counts.unpacked(schedule, 28) == ([2, 4, 6], 4)  # no prime of 17.5 bits is 1 modulo 2^17
    assert packing_counts.unpacked(schedule, 36) == ([2, 3, 4], 0)


def test_counts_compare_both_kinds_of_chain():
    rows = packing_counts.rows()
    assert len(rows) == 2 * 4 * len(packing_counts.WORDS)
    for packed, whole in zip(rows[::2], rows[1::2]):
        assert packed["params"]["word"] == whole["params"]["word"] and packed["value"] < whole["value"]
        assert packed["bits_used"] > 0.95 and packed["key_bytes"] < whole["key_bytes"]


@pytest.mark.slow
def test_a_run_has_all_parts_and_a_part_is_that_alone(fake):
    record = fake()
    assert cli.main(["bench", "bitpacker", "--device", "cpu", "--record", str(record)]) == 0
    rows = json.loads(record.read_text())
    ran = [r["options"] for r in rows if r["name"] == "bench_bitpacker"]
    assert [(o["part"], o.get("words"), o.get("runs")) for o in ran] == [
        ("chains", None, "0"), ("chains", "28", "1"), ("errors", "28", None), ("errors", "31", None)]
    assert sum(r["name"] == "bitpacker.count" for r in rows) == 2 * 4 * len(packing_counts.WORDS)
    assert cli.main(["bench", "bitpacker", "--device", "cpu", "--part", "errors", "--record", str(record)]) == 0
    assert len(json.loads(record.read_text())) == 2


def test_the_study_is_no_part_of_a_whole_run_and_needs_no_device(fake):
    record = fake()
    assert cli.main(["bench", "bitpacker", "--part", "study", "--threads", "2", "--record", str(record)]) == 0
    row, = json.loads(record.read_text())
    assert row["name"] == "packing_study" and row["options"] | {"output": ""} == {
        "output": "", "threads": "2", "schedules": "10000"}
    fake(status=1)
    assert cli.main(["bench", "bitpacker", "--part", "study", "--runs", "10"]) == 1


def test_parts_of_other_measurements_are_refused(fake):
    fake()
    assert cli.main(["bench", "bitpacker", "--device", "cpu", "--part", "gates"]) == 1
    assert cli.main(["bench", "exactness", "--device", "cpu", "--part", "errors"]) == 1


def test_a_wrong_error_fails_the_run(fake):
    fake(status=1)
    assert cli.main(["bench", "bitpacker", "--device", "cpu", "--part", "errors"]) == 1


def error_row(name, word, chain, scale, value):
    return {"name": name, "value": value, "unit": "bits", "low": value - 1, "high": value + 1, "least": value - 4,
            "most": value + 8, "params": {"word": word, "chain": chain, "log_scale": scale}}


def test_boxes_are_of_packed_chains_at_28_bits_and_of_others_at_31(tmp_path):
    name = "bitpacker.rescale_error"
    rows = [error_row(name, 28, "packed", 40, 25), error_row(name, 28, "packed", 30, 15), error_row(name, 28, "double", 40, 25),
            error_row(name, 31, "packed", 30, 15), error_row(name, 31, "single", 30, 16)]
    found = bitpacker.boxes(rows, name)
    assert {label: [r["value"] for r in line] for label, line in found.items()} == {
        "packed, words of 28 bits": [15, 25], "primes of its own, words of 31 bits": [16]}
    picture = tmp_path / "errors.png"
    bitpacker.plot([*rows, *(r | {"name": "bitpacker.adjust_error"} for r in rows)], picture)
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_programs_have_a_device():
    assert programs.device_of("cpu") == "cpu"
