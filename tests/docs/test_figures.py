"""The figures of tables in the documents are those of the records that they link, rounded as they are printed."""

import importlib.util
import json
import re
import statistics
import subprocess
from pathlib import Path

import pytest

from latticino.measure import targets

ROOT = Path(__file__).resolve().parents[2]
PASSES = {"rows of the input": "intt_rows", "ModUp tile": "mod_up", "`key_inner`": "key_inner",
          "ModDown tile": "mod_switch_tile", "`subtract_scale`": "subtract_scale"}


def record(name):
    return json.loads((ROOT / "bench" / "records" / name).read_text())


def table(document, section, first=0):
    """{first cell: other cells} of the table number `first` of a section, and the text before it."""
    text = (ROOT / "docs" / document).read_text()
    chapter = re.split(r"^#+ ", text[text.index(f"# {section}\n") + 2:], maxsplit=1, flags=re.MULTILINE)[0]
    parts = re.split(r"((?:^\|.*\n)+)", chapter, flags=re.MULTILINE)
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in parts[2 * first + 1].splitlines()]
    return {line[0].strip("*"): line[1:] for line in lines[:1] + lines[2:]}, "".join(parts[:2 * first + 1])


def numbers(cell):
    """The numbers of a cell as printed, without those in brackets."""
    return re.findall(r"(?<![\w.])\d+(?:\.\d+)?", re.sub(r"\([^)]*\)", "", cell))


def same(cell, *values):
    """Whether a cell begins with these values."""
    printed = numbers(cell)
    return len(printed) >= len(values) and all(
        f"{value:.{len(text.partition('.')[2])}f}" == text for text, value in zip(printed, values))


def wrong(cells):
    """The triples (where, cell, values) whose cell differs from the values."""
    cells = list(cells)
    assert cells
    return [entry for entry in cells if not same(*entry[1:])]


def by(rows, *keys):
    """Rows by name and members of params (or of the row)."""
    return {(row["name"], *(row["params"].get(k, row.get(k, 0)) for k in keys)): row for row in rows}


def test_conformance_on_a_cpu():
    rows = record("2026-11-25-cpu-conformance.json")
    said = " ".join((ROOT / "docs" / "lab" / "operations.md").read_text().split())
    assert len(rows) == 8 and all(row["passed"] and row["params"]["levels"] == row["params"]["of_levels"] for row in rows)
    assert f"eight small sets equal to the plain code, {sum(row['comparisons'] for row in rows):,} comparisons" in said


def test_conformance_on_a_gpu():
    said = " ".join((ROOT / "docs" / "lab" / "operations.md").read_text().split())
    for name, words in (("2026-11-28-h200-conformance", "All {:,} values were equal"),
                        ("2026-11-28-h200-conformance-free", "So were {:,} values")):
        rows = record(f"{name}.json")
        assert all(row["passed"] and row["params"]["levels"] == row["params"]["of_levels"] for row in rows)
        assert words.format(sum(row["comparisons"] for row in rows)) in said


WORDS = {8: "eight", 16: "sixteen", 32: "thirty-two"}


def test_batches_are_as_large_as_in_the_code():
    code = (ROOT / "src" / "ckks" / "evaluator" / "batches.h").read_text()
    word = WORDS[int(re.search(r"kMaxBatch = (\d+);", code)[1])]
    pages = [" ".join((ROOT / "docs" / name).read_text().split()) for name in ("evaluator.md", "performance.md", "lab/growth.md")]
    assert f"Up to {word} consecutive elements" in pages[0] and f"up to {word} ciphertexts at a time" in pages[1]
    assert f"arrays go {word} ciphertexts at a time" in pages[2]


def test_the_passes_of_key_switching():
    rows, said = table("lab/key-switching.md", "Key switching on the GPU")
    assert "2026-11-22-h200-passes.json" in said
    measured = by(record("2026-11-22-h200-passes.json"), "limbs")
    limbs = [int(cell) for cell in rows.pop("limbs")]
    names = {key: re.search(r"`((?:poly|ckks)\.\w+)`", key) for key in rows}
    assert sum(name is not None for name in names.values()) == 7
    assert wrong((key, cell, measured[names[key][1], count]["value"]) for key, cells in rows.items() if names[key]
                 for count, cell in zip(limbs, cells)) == []


def test_operations_beside_the_targets():
    rows, said = table("lab/operations.md", "Beside the targets")
    assert "2026-11-23-h200-operations.json" in said
    measured = by(record("2026-11-23-h200-operations.json"), "limbs", "batch")
    names = {"multiply, relinearise, rescale": ("ckks.mul_relin_rescale", 1), "rotate": ("ckks.rotate", 1),
             "one of 16 independent rotations, one key": ("ckks.rotate", 16),
             "one of 8 hoisted rotations": ("ckks.rotate_hoisted", 1), "rescale": ("ckks.rescale", 1)}
    assert wrong((key, cell, measured[name, limbs, batch]["value"]) for key, (name, batch) in names.items()
                 for limbs, cell in zip((47, 23, 13, 7), rows[key])) == []


CHEDDAR = "Cheddar 1.0, measured 2026-11"
CHEDDAR_BOTH = {"Cheddar's code as graphs: the product, rotate": f"{CHEDDAR}, captured into a CUDA graph",
                "the same without graphs": f"{CHEDDAR}, in one run with its graphs"}


def test_operations_beside_cheddar():
    rows, _ = table("lab/operations.md", "Beside the targets")
    chapter = " ".join((ROOT / "docs" / "lab" / "operations.md").read_text().split())
    others = json.loads((ROOT / "python" / "latticino" / "measure" / "references.json").read_text())
    measured = by(record("2026-11-23-h200-operations.json"), "limbs", "batch")
    boot = by(record("2026-11-23-h200-bootstrap.json"), *BOOTSTRAPS)["ckks.bootstrap", "n16-d40-boot-v1", 32768, 0, 0, 0]
    gains = []
    for label, source in CHEDDAR_BOTH.items():
        known = by([row for row in others if row["source"] == source], "limbs", "minimal_keys")
        pairs = {limbs: [known[f"ckks.{name}", limbs, 0]["value"] for name in ("mul_relin_rescale", "rotate")]
                 for limbs in (47, 23, 13, 7)}
        assert wrong((limbs, cell, *pairs[limbs]) for limbs, cell in zip(pairs, rows[label])) == []
        times = [pairs[limbs][i] / measured[f"ckks.{name}", limbs, 1]["value"]
                 for i, name in enumerate(("mul_relin_rescale", "rotate")) for limbs in pairs]
        gains.append((f"{min(times):.1f} to {max(times):.1f} times",
                      f"bootstrapping {known['ckks.bootstrap', 0, 0]['value'] / boot['value']:.1f} times"))
    assert all(words in chapter for gain in gains for words in gain), gains


def medians(*keys):
    """Medians of the runs of the record of bands, by name and members of params (or of the row)."""
    runs = {}
    for row in record("2026-11-28-h200-bands.json"):
        runs.setdefault((row["name"], *(row["params"].get(k, row.get(k, 0)) for k in keys)), []).append(row["value"])
    return {key: statistics.median(values) for key, values in runs.items()}


def lines_below(head):
    """The cells of the table of lab/key-switching.md with that first line."""
    below = (ROOT / "docs" / "lab" / "key-switching.md").read_text().split(f"\n{head}\n")[1].split("\n\n")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in below.splitlines()[1:]]


def test_bootstrapping_in_bands():
    found, sets = medians("preset", "slots", "batch", "over_mod_raise"), ("n16-d40-boot-v1", "n16-d40-boot-v2")
    shapes = {"2^15 complex slots": (32768, 1, 1), "2^15 complex slots, batch of 8": (32768, 8, 1),
              "2^14 real slots": (16384, 1, 1), "2^14 real slots, batch of 8": (16384, 8, 1),
              "2^15 complex slots, usual order": (32768, 1, 0)}
    lines = lines_below("| bootstrapping | v1 | v2 | difference |")
    assert [line[0] for line in lines] == [*shapes]
    for label, *cells in lines:
        v1, v2 = (found[("ckks.bootstrap", name, *shapes[label])] for name in sets)
        assert cells == [f"{v1:.3f}", f"{v2:.3f}", f"{v1 - v2:.3f}"], label
    rows, said = table("lab/operations.md", "Beside the targets", 3)
    assert "2026-11-28-h200-bands.json" in said
    shapes = {"complex, 2^15 slots": ("complex", 2**15, 1), "complex, 2^15 slots, batch of 8": ("complex", 2**15, 8),
              "real, 2^14 slots": ("real", 2**14, 1), "real, 2^14 slots, batch of 8": ("real", 2**14, 8)}
    assert set(shapes.values()) == set(targets.CHOSEN_BOOT)
    for label, (message, slots, batch) in shapes.items():
        target = targets.CHOSEN_BOOT[message, slots, batch] / 1e3
        times = [found["ckks.bootstrap", name, slots, batch, 1] for name in sets]
        assert rows[f"{label} ({target})"] == [f"**{time:.3f}**" if time <= target else f"{time:.3f}" for time in times]


def test_key_switches_in_wider_bands():
    found = medians("limbs", "aux", "batch")
    lines = lines_below("| limbs | auxiliary primes | product | in a batch of 2 | in a batch of 8 | rotation | in a batch of 2 "
                        "| in a batch of 8 |")
    assert [line[:2] for line in lines] == [["33", "12, 17"], ["35", "12, 18"]]
    for limbs, both, *cells in lines:
        wanted = [tuple(found[name, int(limbs), int(aux), batch] for aux in both.split(", "))
                  for name in ("ckks.mul_relin", "ckks.rotate") for batch in (1, 2, 8)]
        assert cells == [f"{old:.0f}, {new:.0f}" for old, new in wanted], limbs


BOOTSTRAPS = ("preset", "slots", "minimal_keys", "slot_to_coeff_first", "over_mod_raise")


def test_bootstrapping_beside_the_targets():
    rows, said = table("lab/operations.md", "Beside the targets", 1)
    assert "2026-11-23-h200-bootstrap.json" in said
    measured = by(record("2026-11-23-h200-bootstrap.json"), *BOOTSTRAPS)
    d40 = "n16-d40-boot-v1"
    options = {"`n16-d40-boot-v1`, 2^15 slots, 13 levels left": (d40, 32768, 0, 0, 0),
               "`n16-d35-boot-v1`, 15 levels left": ("n16-d35-boot-v1", 32768, 0, 0, 0),
               "d40 with minimal keys": (d40, 32768, 1, 0, 0), "d40, SlotToCoeff first": (d40, 32768, 0, 1, 0),
               "d40, OverModRaise": (d40, 32768, 0, 0, 1),
               "d40, SlotToCoeff first, OverModRaise": (d40, 32768, 0, 1, 1), "d40, 256 slots": (d40, 256, 0, 0, 0)}
    assert set(options) == set(rows) - {""}

    def cells():
        for key, option in options.items():
            time, _, bits, tables, peak = rows[key]
            row = measured[("ckks.bootstrap", *option)]
            yield key, time, row["value"]
            yield key, bits, row["mean_error_bits"], row["max_error_bits"]
            yield key, tables, (row["key_bytes"] + row["matrix_bytes"]) / 1e9
            yield key, peak, row["peak_bytes"] / 1e9

    assert wrong(cells()) == []


def test_memory_beside_dry_runs():
    rows = record("2026-11-23-h200-bootstrap.json")
    said = " ".join((ROOT / "docs" / "lab" / "operations.md").read_text().split())

    def percent(words, member, under):
        shares = [row["dry_peak_bytes"] / row[member] if under else row[member] / row["dry_peak_bytes"] for row in rows]
        low, high = sorted((100 * abs(1 - min(shares)), 100 * abs(1 - max(shares))))
        assert f"{low:.1f} to {high:.1f} % {words}" in said

    each, _ = table("lab/operations.md", "Beside the targets", 2)
    at = by(rows, *BOOTSTRAPS)
    options = {"d40 with minimal keys": (32768, 1, 0, 0), "d40, SlotToCoeff first": (32768, 0, 1, 0),
               "d40, OverModRaise": (32768, 0, 0, 1), "d40, SlotToCoeff first, OverModRaise": (32768, 0, 1, 1),
               "d40, 256 slots": (256, 0, 0, 0)}
    assert len(each) == len(rows) + 1

    def cells():
        for key, printed in list(each.items())[1:]:
            preset = key.strip("`") if key.startswith("`") else "n16-d40-boot-v1"
            row = at[("ckks.bootstrap", preset, *options.get(key, (32768, 0, 0, 0)))]
            dry = row["dry_peak_bytes"]
            shares = (1 - dry / row["peak_bytes"], 1 - dry / row["device_peak_bytes"],
                      row["device_held_bytes"] / dry - 1)
            yield from ((key, cell, 100 * share) for cell, share in zip(printed, shares, strict=True))

    assert wrong(cells()) == []
    percent("below it.", "peak_bytes", True)
    percent("below it; tests check", "device_peak_bytes", True)
    percent("above the peak of the dry run, for example 7.28 GB instead of 6.67", "device_held_bytes", False)
    assert [round(rows[0][m] / 1e9, 2) for m in ("device_held_bytes", "dry_peak_bytes")] == [7.28, 6.67]


@pytest.mark.parametrize("first, steps", [
    (0, {"unfused: every pass its own records, one polynomial and two terms at a time, conversions on integers through "
         "Coeff, launch after launch, minimal keys": "unfused",
         "+ sequential fusion: `KeyInner` and `ModDownFinish` as one pass each": "+ sequential fusion",
         "+ parallel fusion: batches and long sums in one launch": "+ parallel fusion",
         "+ column tiles: base conversion between two `Half` ends, on integers": "+ tiles",
         "+ matrix units": "+ matrix units",
         "+ kernel variants from the table that is shipped": "+ kernel variants",
         "+ overlap of launches: the next one begins while its predecessor ends": "+ overlap of launches",
         "+ one graph": "+ graph", "+ double hoisting instead of minimal keys": "+ hoisting",
         "+ SlotToCoeff first": "+ SlotToCoeff first", "+ OverModRaise": "+ OverModRaise",
         "+ 8 hoisted rotations of one ciphertext, for each": "+ 8 hoisted",
         "+ 4 independent rotations at once, for each": "+ batch of 4", "+ 16": "+ batch of 16"}),
    (1, {"(nothing left out)": "+ graph", "column tiles": "all but tiles", "batches": "all but batches",
         "matrix units": "all but matrix units", "overlap of launches": "all but overlap of launches",
         "fused inner products": "all but fused inner products", "long sums": "all but long sums",
         "the fused last step": "all but the fused last step", "the graph": "all but graphs",
         "variants from the table": "all but tuned variants"})])
def test_the_ablation(first, steps):
    rows, said = table("lab/ablation.md", "Ablation", first)
    assert "2026-11-23-h200-ablation.json" in said
    measured = by(record("2026-11-23-h200-ablation.json"), "limbs", "step")
    assert set(steps) == set(list(rows)[1:])

    def cells():
        for key, step in steps.items():
            columns = (("rotate", 47), ("rotate", 23), ("rotate", 7), ("bootstrap", 47))
            for (name, limbs), cell in zip(columns, rows[key]):
                hoisted = name == "bootstrap" and key == "(nothing left out)"
                if cell:
                    yield key, cell, measured[f"ablation.{name}", limbs, "+ hoisting" if hoisted else step]["value"]

    assert wrong(cells()) == []


def test_the_roofline():
    rows, said = table("lab/roofline.md", "Roofline")
    assert "2026-11-22-h200-roofline.json" in said
    measured = by(record("2026-11-22-h200-roofline.json"), "limbs")

    def cells():
        for key, name in PASSES.items():
            limbs, *found = rows[key]
            at = [measured[f"roofline.{name}", int(count)] for count in numbers(limbs)]
            members = {"value": 1, "bytes_moved": 1e6, "instructions": 1e9, "multiplies": 1e9, "products8": 1e9,
                       "binding": 0, "ceiling_fraction": 1}
            for cell, (member, unit) in zip(found, members.items()):
                if member == "binding":
                    assert {row["binding"] for row in at} == {cell}
                elif cell:
                    yield key, cell, *(row[member] / unit for row in at)

    assert wrong(cells()) == []


def test_the_counters():
    from latticino.measure import roofline
    rows, said = table("lab/roofline.md", "Roofline", 1)
    assert "2026-11-22-h200-counters.json" in said
    counted = by(record("2026-11-22-h200-counters.json"), "limbs")

    def cells():
        for key, name in PASSES.items():
            limbs, read, written, instructions = rows[key]
            for i, count in enumerate(map(int, numbers(limbs))):
                shape, row = roofline.Shape(2**16, count, 12), counted[f"counters.{name}", count]
                inputs = roofline.input_bytes(f"poly.{name}", shape)
                yield key, read.split("/")[i], row["counted_dram_read"] / inputs
                yield key, written.split("/")[i], row["counted_dram_write"] / 1e6
                yield (key, instructions.split("/")[i],
                       row["counted_instructions"] / roofline.work(f"poly.{name}", shape).issue)

    assert wrong(cells()) == []


def test_prime_systems():
    rows, said = table("lab/operations.md", "Prime systems")
    assert "2026-11-23-h200-bootstrap.json" in said
    measured = by(record("2026-11-23-h200-bootstrap.json"), *BOOTSTRAPS)

    def cells():
        for i, scale in enumerate((30, 35, 40, 45, 50)):
            assert rows["scale"][i] == f"2^{scale}"
            row = measured["ckks.bootstrap", f"n16-d{scale}-boot-v1", 32768, 0, 0, 0]
            yield scale, rows["levels left"][i], row["levels_left"]
            yield scale, rows["bootstrapping"][i], row["value"]
            yield scale, rows["time per level"][i], row["value"] / row["levels_left"]
        for i, scale in enumerate((30, 35, 40)):
            for other in others[f"n16-d{scale}-boot-v1"]:
                at = -1 if "64-bit" in other["source"] else 0
                left = int(re.match(r"(\d+) levels left", other["note"])[1])
                values = {"Cheddar's code": other["value"], "levels that it leaves": left,
                          "its time per level": other["value"] / left}
                for key, value in values.items():
                    cell = rows[key][i].split("(")[at].replace("with limbs of 64 bits", "")
                    yield f"{key}, {other['source']}", cell, value

    others = {}
    for other in json.loads((ROOT / "python" / "latticino" / "measure" / "references.json").read_text()):
        if other["name"] == "ckks.bootstrap" and other["source"] in (CHEDDAR, CHEDDAR + ", 64-bit limbs"):
            others.setdefault(other["preset"], []).append(other)
    assert [len(others[f"n16-d{scale}-boot-v1"]) for scale in (30, 35, 40)] == [1, 1, 2]
    assert wrong(cells()) == []


def test_growth():
    rows, said = table("lab/growth.md", "How it grows")
    assert "2026-11-22-h200-growth.json" in said
    measured = by([row for row in record("2026-11-22-h200-growth.json") if row["axis"] == "limbs"], "limbs")
    for key, member, unit in (("us", "value", 1), ("MB", "footprint_bytes", 1e6)):
        assert wrong((limbs, cell, measured["growth.rotate", int(limbs)][member] / unit)
                     for limbs, cell in zip(rows["limbs"], rows[key])) == []


def test_client_on_the_gpu():
    rows, said = table("lab/client.md", "Encoding and the client on the GPU")
    assert "2026-11-23-h200-client.json" in said
    measured = by(record("2026-11-23-h200-client.json"), "limbs", "batch")
    names = {"encode": "encode", "encode, values already on the device, replayed": "encode_resident",
             "encrypt (secret key), encoded": "encrypt", "decrypt and decode": "decrypt",
             "decode a plaintext": "decode"}
    assert set(names) == set(rows) - {""}
    assert wrong((key, cell, *(measured[f"ckks.{name}", limbs, batch]["value"] for batch in (1, 64)
                               if (f"ckks.{name}", limbs, batch) in measured))
                 for key, name in names.items() for limbs, cell in zip((47, 13), rows[key])) == []


def test_forms_of_transforms():
    rows, said = table("lab/variants.md", "Forms of transforms", 1)
    assert "2026-11-23-h200-transforms.json" in said
    measured = by(record("2026-11-23-h200-transforms.json"), "N", "limbs", "polynomials", "form")
    columns = (("poly.ntt", 1, 1), ("poly.ntt", 20, 1), ("poly.ntt", 7, 16), ("poly.intt", 7, 16),
               ("poly.ntt", 20, 16), ("poly.intt", 20, 16))
    assert list(rows)[1:] == [f"2^{log_n}" for log_n in range(10, 18)]

    def cells():
        for key in list(rows)[1:]:
            for (name, *shape), cell in zip(columns, rows[key], strict=True):
                for form, printed in enumerate(cell.split(", ")):
                    row = measured.get((name, 2 ** int(key[2:]), *shape, form))
                    assert (row is None) == (printed == "-"), (key, cell)
                    if row:
                        yield key, printed, row["value"]

    assert wrong(cells()) == []


def test_exact_switching():
    rows, said = table("switching.md", "Measured", 2)
    errors, _ = table("switching.md", "Measured", 3)
    assert "2026-11-23-h200-switch-exact.json" in said
    measured = by(record("2026-11-23-h200-switch-exact.json"), "preset", "slots", "function")

    def cells():
        for key, printed in list(rows.items())[1:]:
            preset, slots, route = re.fullmatch(r"`([^`]+)`, (\d+), (\w+)", key).groups()
            for name, cell in zip(("extract", "lut", "repack", "round_trip"), printed):
                row = measured[f"switch.{name}", preset, int(slots), 0]
                assert row["params"]["route"] == route
                yield key, cell, row["value"]
            yield key, printed[4], row["device_peak_bytes"] / 1e9
        functions = ("identity", "sigmoid", "relu", "sign", "sqrt", "random")
        for key, function in zip(list(errors)[1:], functions, strict=True):
            row = measured["switch.precision", "switch-n16-d40-precise-v1", 0, function]
            argument = [row["argument_mean_error_bits"], row["argument_max_error_bits"]]
            mean, predicted, worst, other = (cell.replace("2^-", "") for cell in errors[key])
            yield key, mean, row["mean_error_bits"]
            yield key, predicted, row["predicted_mean_bits"]
            if "wrong" not in worst:
                yield key, worst, row["max_error_bits"]
            yield key, other, *argument

    assert wrong(cells()) == []


def test_dry_runs_of_bootstrapping():
    rows, said = table("bootstrapping.md", "Options")
    assert "2026-11-23-dry-bootstrap.json" in said
    dry = by(record("2026-11-23-dry-bootstrap.json"), *BOOTSTRAPS)
    options = {"as it is": (0, 0, 0), "minimal keys": (1, 0, 0), "SlotToCoeff first": (0, 1, 0),
               "OverModRaise": (0, 0, 1), "SlotToCoeff first, OverModRaise": (0, 1, 1),
               "minimal keys, SlotToCoeff first": (1, 1, 0),
               "minimal keys, OverModRaise": (1, 0, 1), "all three": (1, 1, 1)}
    assert set(options) == set(rows) - {""}

    def cells():
        for key, option in options.items():
            row = dry[("ckks.bootstrap_dry", "n16-d40-boot-v1", 32768, *option)]
            members = ("key_bytes", "matrix_bytes", "dry_peak_bytes", "records", "bytes_moved", "value")
            for cell, member in zip(rows[key], members):
                yield key, cell, row[member] / (1e9 if member.endswith(("bytes", "moved")) else 1)
            yield key, rows[key][6], row["predicted_mean_bits"], row["predicted_max_bits"]
            yield key, rows[key][7], row["predicted_ones_bits"]

    assert wrong(cells()) == []


def test_a_gpu_that_ran_knew_as_much_before():
    dry = by(record("2026-11-23-dry-bootstrap.json"), *BOOTSTRAPS)
    ran = by(record("2026-11-23-h200-bootstrap.json"), *BOOTSTRAPS)
    both = [(row, dry[known]) for (_, *key), row in ran.items() if (known := ("ckks.bootstrap_dry", *key)) in dry]
    assert len(both) == 7
    for row, known in both:
        for member in ("key_bytes", "matrix_bytes", "dry_peak_bytes", "bytes_moved"):
            assert row[member] == pytest.approx(known[member], rel=1e-5)
        assert row["value"] == pytest.approx(known["value"], rel=0.1)


def test_tfhe_noise():
    rows, said = table("tfhe.md", "Measured noise")
    names = ("2026-11-23-h200-tfhe-noise.json", "2026-11-23-epyc-tfhe-noise.json")
    assert all(name in said for name in names)
    gpu, cpu = (by(record(name), "preset", "arithmetic") for name in names)

    def cells():
        for key, printed in list(rows.items())[1:]:
            name, arithmetic = key.split(", ")
            at = "tfhe.exactness.noise", name.strip("`"), {"exact": "exact", "FP64": "fft64"}[arithmetic]
            members = [(f"{what}_log2_measured", f"{what}_log2_predicted") for what in ("result", "switch")]
            for cell, (measured, predicted) in zip(printed, [*members, ("value", "log2_failure_predicted")]):
                found = re.findall(r"2\^(-[\d.]+)", cell)
                yield key, found, [gpu[at][measured], gpu[at][predicted]]
            yield key, re.findall(r"2\^(-[\d.]+)", printed[3]), [cpu[at]["value"]]

    checked = [(key, f"{value:.{len(text.partition('.')[2])}f}" == text)
               for key, found, values in cells() for text, value in zip(found, values, strict=True)]
    assert len(checked) == 6 * 7 and all(good for _, good in checked), checked


def test_tfhe_on_the_gpu():
    text = (ROOT / "docs" / "lab" / "tfhe.md").read_text()
    chapter = text[text.index("\n## On the GPU"):text.index("### One ciphertext on several multiprocessors\n")]
    assert "2026-11-23-h200-gates.json" in chapter
    measured = by((r for r in record("2026-11-23-h200-gates.json") if r["params"]["arithmetic"] == "fft64"), "preset", "batch")
    legacy, group3, gates = "chameleon-630-legacy", "chameleon-630-group3-legacy", "tfhe-gates-v2"
    rows = [("gate_throughput", legacy, 4096), ("gate_latency", legacy, 1), ("gate_latency", group3, 1),
            ("pbs_throughput", "tfhe-2-2-v2", 4096), ("pbs_latency", "tfhe-2-2-v2", 1),
            ("pbs_throughput", "tfhe-2-2-v1", 4096), ("pbs_latency", "tfhe-2-2-v1", 1),
            ("pbs_latency", "tfhe-2-2-group3-fft64-v1", 1), ("gate_latency", gates, 1), ("gate_throughput", gates, 4096)]
    printed = [line.split("|") for line in re.findall(r"^\|.*$", chapter, flags=re.MULTILINE)[2:]]
    assert len(printed) == len(rows)
    for (name, *where), (_, row, _, _, here, *_) in zip(rows, printed):
        value = measured[("tfhe." + name, *where)]["value"]
        assert here.split()[0] == (f"{value:.3f}" if where[1] == 1 else f"{value:,.0f}"), row


BOOT = "n16-d40-boot-v1"
SWITCH = "switch-n16-d40-fp64-v1"
BEFORE_AFTER = {
    "bootstrapping": ("ckks.bootstrap", BOOT, {"slot_to_coeff_first": 0}),
    "the same, SlotToCoeff first": ("ckks.bootstrap", BOOT, {"slot_to_coeff_first": 1}),
    "sum, 23": ("ckks.add", BOOT, {"limbs": 23}),
    "product, 47": ("ckks.mul_relin_rescale", BOOT, {"limbs": 47}),
    "product, 13": ("ckks.mul_relin_rescale", BOOT, {"limbs": 13}),
    "rotation, 47": ("ckks.rotate", BOOT, {"limbs": 47, "batch": 1}),
    "rotation, 13": ("ckks.rotate", BOOT, {"limbs": 13, "batch": 1}),
    "one of 16 rotations": ("ckks.rotate", BOOT, {"limbs": 13, "batch": 16}),
    "rescaling, 47": ("ckks.rescale", BOOT, {"limbs": 47}),
    "one gate": ("tfhe.gate_latency", "tfhe-gates-v1", {"arithmetic": "exact"}),
    "one table": ("tfhe.gate_latency", "tfhe-2-2-v1", {"arithmetic": "fft64"}),
    "gates per second": ("tfhe.gate_throughput", "tfhe-gates-v1", {"arithmetic": "fft64"}),
    "repacking of 64 slots": ("switch.repack", SWITCH, {"slots": 64}),
    "64 slots": ("switch.round_trip", SWITCH, {"slots": 64}),
    "1,024 slots": ("switch.round_trip", SWITCH, {"slots": 1024})}
# Parts of a gate of 7 to 20 us, and precision, which is no time, differ by more from round to round.
WHOLE = re.compile(r"ckks\.|switch\.(extract|lut|repack|round_trip)|tfhe\.(gate|pbs|blind_rotate)_")


def test_both_builds_take_the_same_time():
    rows, said = table("lab/operations.md", "Both builds in turn")
    assert "2026-11-28-h200-before-after.json" in said
    before, after = (re.search(r"\w{7}$", cell)[0] for cell in rows.pop("")[:2])
    # Records do not say which commit is older. git does, if the clone has its history.
    git = ["git", "-C", str(ROOT), "merge-base", "--is-ancestor", before, after]
    assert subprocess.run(git, capture_output=True).returncode in (0, 128), "the columns are in the wrong order"
    recorded, checked = record("2026-11-28-h200-before-after.json"), []
    assert len(rows) == len(BEFORE_AFTER)
    for what, cells in rows.items():
        name, preset, params = next(wanted for start, wanted in BEFORE_AFTER.items() if what.startswith(start))
        values = {row["commit"]: row["value"] for row in recorded if (row["name"], row["preset"]) == (name, preset)
                  and all(row["params"].get(key, 0) == value for key, value in params.items())}
        change = 100 * (values[after] / values[before] - 1)
        checked += [(what, cells[0].replace(",", ""), values[before]), (what, cells[1].replace(",", ""), values[after])]
        assert cells[2] == (f"{change:+.1f} %" if abs(change) >= 0.05 else "0.0 %"), what
    assert wrong(checked) == []
    longer = []
    for old, new in zip(recorded[::2], recorded[1::2], strict=True):
        assert (old["commit"], new["commit"], old["params"]) == (before, after, new["params"])
        times = (new["value"], old["value"]) if old["unit"] != "1/s" else (old["value"], new["value"])
        if WHOLE.match(old["name"]):
            longer.append(100 * (times[0] / times[1] - 1))
    assert len(longer) == 62 and max(longer) < 1.05


def test_times_of_rotations_that_contexts_choose_by():
    spec = importlib.util.spec_from_file_location("rotation_times", ROOT / "bench" / "rotation_times.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    shipped = [line for line in module.TABLE.read_text().splitlines() if line.startswith(("rotation ", "# Rotations:"))]
    assert shipped == module.lines(), "write them again: python bench/rotation_times.py --write"
    assert len(shipped) > 40
    with_both = [line for line in shipped[1:] if "0" not in line.split(" = ")[1].split()]
    assert len(with_both) > 25


def test_three_products_with_the_encrypted_secret():
    rows = record("2026-11-26-xeon-repacking.json")
    page = (ROOT / "docs" / "lab" / "switching.md").read_text()
    names = {"diagonals": "diagonals", "pegasus": "Pegasus's order", "rotation-free": "without rotations"}
    for row in rows:
        n, way, steps = row["params"]["rows"], row["params"]["way"], row["key_switches"]
        counts = [row[k] for k in ("key_switches", "products", "secret_ciphertexts", "rotation_keys")]
        cells = " | ".join(map(str, [n, names[way], *counts, f"{row['value']:.0f}"]))
        assert f"| {cells} |" in page
        assert row["products"] == n and row["error_bits"] > 30
        assert steps == {"diagonals": n - 1, "pegasus": None, "rotation-free": 0}[way] or (way == "pegasus" and steps < 2 * n**0.5 + 1)
    assert len(rows) == 9


def test_ceilings_of_a_gpu():
    rows = {row["name"]: row["value"] for row in record("2026-11-28-h200-ceilings.json")}
    cells, said = table("lab/roofline.md", "Ceilings", 1)
    assert "2026-11-28-h200-ceilings.json" in said
    names, (first, others) = cells.items()
    kinds = [re.search(r"`(\w+)`", cell)[1] for cell in (names[0], *names[1])]
    assert wrong((kind, cell, rows[f"ceiling.{kind}"] / 1e12) for kind, cell in zip(kinds, (first, *others), strict=True)) == []


def test_ceilings_of_a_cpu():
    rows = {(row["name"], row["params"]["threads"]): row["value"] for row in record("2026-11-26-xeon-ceilings.json")}
    cells, said = table("lab/roofline.md", "Ceilings", 2)
    assert "2026-11-26-xeon-ceilings.json" in said
    kinds = ("multiply", "double", "l1", "l2", "memory", "copy")
    assert wrong((kind, cell, rows[f"ceiling.{kind}", threads] / 1e9) for kind, line in zip(kinds, list(cells.values())[1:], strict=True)
                 for threads, cell in zip((1, 2), line, strict=True)) == []
