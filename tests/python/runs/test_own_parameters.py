"""lt.make_params: random requests give sets whose results are as precise as claimed, or refusals whose remedies are
accepted."""

import math
import random
import re
from pathlib import Path

import numpy as np
import pytest

import latticino as lt

MARGIN = 1.5  # bits of the mean of 512 slots and more below what a plan claims: some 30 deviations


def make(request):
    return lt.make_params(**request)


def remedied(request, remedy):
    """The request with one alternative of a remedy: assignments joined by "and"."""
    out = dict(request)
    for part in remedy.split(" and "):
        place, value = part.split("=", 1)
        if cut := re.fullmatch(r"levels\[:(\d+)\]", value):
            out["levels"] = list(out["levels"])[:int(cut[1])]
        elif index := re.fullmatch(r"levels\[(\d+)\]", place):
            out["levels"] = list(out["levels"])
            out["levels"][int(index[1])] = eval(value, {})
        else:
            out[place] = eval(value, {})
    return {k: v for k, v in out.items() if not (k == "scale" and isinstance(out.get("levels"), list))}


def alternatives(error):
    text = str(error)
    assert "; ask for " in text, text
    return text.rsplit("; ask for ", 1)[1].split("; or for ")


def check_refusal(request, error):
    assert str(error).startswith("make_params: had "), error
    for remedy in alternatives(error):
        make(remedied(request, remedy))  # accepted


def computes(params, most_slots=None):
    """Products at all levels, with a rotation in between: results are as precise as the plan says."""
    ctx = lt.Context(params, "cpu")

    def program(x, y):
        for level in range(params.default_level):
            x = x * y
            if level == params.default_level // 2:
                x = x.roll(3)
        return x.roll(-3)

    slots = min(ctx.slots, most_slots or ctx.slots)
    draw = np.random.default_rng(5)
    x, y = draw.uniform(-1, 1, slots), draw.choice([-1, 1], slots) * draw.uniform(0.9, 1, slots)
    shape = lt.Shape((slots,), None, (-1, 1))
    plan = ctx.plan(program, shape, shape)
    client = lt.keygen(ctx)
    ctx.use(client.server_keys(plan))
    got = client.decrypt(program(client.encrypt(x, range=(-1, 1)), client.encrypt(y, range=(-1, 1))))
    reached = lt.precision(got, program_in_the_clear(x, y, params.default_level))
    assert reached.mean > plan.bits[0][0] - MARGIN, (params.explain(), reached, plan.bits)


def program_in_the_clear(x, y, levels):
    for level in range(levels):
        x = x * y
        if level == levels // 2:
            x = np.roll(x, 3)
    return np.roll(x, -3)


def random_request(draw, log_n):
    out = {"N": 2**log_n, "security": draw.choice([None, None, None, 128, 192, 256])}
    scale = draw.choice([draw.randint(18, 60), draw.uniform(18, 60)])
    if draw.random() < 0.3:
        out["levels"] = [2.0**min(60, max(20, scale + draw.choice([0, 0, draw.uniform(-6, 6)])))
                         for _ in range(draw.randint(1, 8))]
    else:
        out["scale"] = 2.0**scale
        out["levels"] = draw.choice([None, draw.randint(1, 12)]) if out["security"] else draw.randint(1, 12)
    for name, values in (("word", [24, 28, 29, 30, 31]), ("dnum", range(1, 13)),
                         ("secret", ["ternary", 2**log_n * 2 // 3, 192])):
        if draw.random() < 0.3:
            out[name] = draw.choice(list(values))
    out["quantum"] = bool(out["security"]) and draw.random() < 0.3
    return out


def check_claims(request, params):
    wanted = request.get("levels")
    if isinstance(wanted, list):
        assert params.default_level == len(wanted) - 1
        scales = wanted
    else:
        assert wanted is None or params.default_level == wanted
        scales = [request["scale"]] * (params.default_level + 1)
    for level, scale in enumerate(scales):
        assert abs(math.log2(params.scale(level)) - math.log2(scale)) <= 0.5
        assert params.message_bound(level) > 1
    security = request["security"]
    assert params.secure == (security is not None) and ("insecure" in params.name) != params.secure
    assert params.security_bits(request["quantum"]) >= (security or 0)
    assert request.get("dnum") in (None, params.dnum)
    assert params.n == request["N"]
    primes = [int(q) for line in params.canonical_text().splitlines()
              if line.split()[0] in ("terminals", "mains", "aux", "outer") for q in line.split()[1:]]
    assert max(primes) < 2**request.get("word", 31)
    assert make(request).hash == params.hash


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_random_requests(part):
    draw = random.Random(part)
    accepted = refused = 0
    for _ in range(25):
        request = random_request(draw, draw.choice([10, 10, 10, 11, 12]))
        try:
            params = make(request)
        except lt.ParameterError as error:
            refused += 1
            check_refusal(request, error)
        else:
            accepted += 1
            check_claims(request, params)
            if accepted <= 10:
                computes(params)
    assert accepted >= 5 and refused >= 5


def test_random_requests_of_large_rings():
    draw = random.Random(7)
    accepted = refused = 0
    for log_n in (13, 13, 14, 15, 16, 16, 17):
        request = random_request(draw, log_n) | {"secret": "ternary"}
        try:
            check_claims(request, make(request))
            accepted += 1
        except lt.ParameterError as error:
            check_refusal(request, error)
            refused += 1
    assert accepted + refused == 7 and accepted >= 2


@pytest.mark.parametrize("request_", [
    {"N": 2**13, "levels": 3, "scale": 2**36}, {"N": 2**14, "levels": [2**40, 2**40, 2**38, 2**36, 2**34]},
    {"N": 2**14, "levels": 6, "scale": 2**33, "dnum": 4}], ids=["pairs", "list", "cycle"])
def test_secure_sets_compute(request_):
    params = make(request_)
    assert params.secure and params.security_bits() >= 128
    computes(params)


def test_every_scale_has_a_chain_at_the_largest_usual_ring():
    """The table of docs/parameters.md."""
    page = (Path(__file__).parents[3] / "docs" / "parameters.md").read_text()
    rows = re.findall(r"^\| 2\^([\d.]+) \| (\d+) \| (\d+) \+ (\d+) \| (\d+) \| (\d+) \| (\d+) \| ([\d.]+) \|$", page, re.M)
    assert len(rows) == 12
    for scale, *said in rows:
        params = lt.make_params(N=2**16, scale=2**float(scale))
        lines = dict(line.split(" ", 1) for line in params.canonical_text().splitlines() if " " in line)
        counts = [len(lines.get(name, "").split()) for name in ("mains", "terminals")]
        level = params.default_level
        assert [str(x) for x in (level, *counts, params.limbs(level), params.dnum)] == said[:5]
        assert f"{params.log_pq:.0f}" == said[5] and abs(params.scale_drift - float(said[6])) < 0.0015
        assert params.security_bits() == 128 and params.log_q(level) / params.limbs(level) > 26


def test_bootstrapping_sets():
    for scale, preset in ((2**30, "n16-d30-boot-v1"), (2**35, "n16-d35-boot-v1"), (2**40, "n16-d40-boot-v1"),
                          (2**45, "n16-d45-boot-v1"), (2**50, "n16-d50-boot-v1")):
        made, known = lt.make_params(scale=scale, bootstrapping=True), lt.preset(preset)
        assert made.level_after_bootstrap >= known.level_after_bootstrap and made.dnum == 4
        for kind, (mean, _) in known.bootstrap_precision.items():
            assert made.bootstrap_precision[kind][0] > mean - (0.5 if kind == "random" else 1.0)
        assert made.security_bits() == 128 and made.security_bits(quantum=True) == 0
    params = lt.make_params(N=2**10, levels=4, scale=2**38, bootstrapping=True, security=None)
    assert params.level_after_bootstrap == 4
    ctx = lt.Context(params, "cpu")
    client = lt.keygen(ctx)

    def program(x):
        return x.bootstrap(random_like=True) * x.bootstrap(random_like=True)

    shape = lt.Shape((ctx.slots,), 0, (-1, 1))
    plan = ctx.plan(program, shape)
    ctx.use(client.server_keys(plan))
    x = np.random.default_rng(1).uniform(-1, 1, ctx.slots)
    got = client.decrypt(program(client.encrypt(x, level=0, range=(-1, 1))))
    assert lt.precision(got, x * x).mean > plan.bits[0][0] - MARGIN
    for bad in ({"N": 2**15}, {"security": 192}, {"quantum": True}, {"levels": [2**40] * 4}, {"levels": 100}):
        request = {"bootstrapping": True} | bad
        with pytest.raises(lt.ParameterError) as refused:
            make(request)
        check_refusal(request, refused.value)


@pytest.mark.parametrize("bad", [
    {"N": 1000}, {"N": 2**9}, {"N": 2**18}, {"N": -4}, {"N": 0}, {"N": 10**30}, {"levels": 0}, {"levels": -3},
    {"levels": 10**20}, {"levels": []}, {"levels": [2**40] * 300}, {"levels": [2**60, 2**30]}, {"levels": [2**5]},
    {"levels": [2**40, 2**39.9, 2**70]}, {"scale": 40}, {"scale": 2**61}, {"scale": 1e300}, {"scale": 2**-3},
    {"word": 23}, {"word": 32}, {"word": 0}, {"word": -2}, {"dnum": 0}, {"dnum": -1}, {"dnum": 50, "levels": 5},
    {"dnum": 10**9}, {"secret": 0}, {"secret": 64}, {"secret": -1}, {"secret": 2**17}, {"secret": 300, "security": 256},
    {"security": 80}, {"security": 0}, {"security": 10**9}, {"security": None}, {"security": None, "quantum": True},
    {"levels": 100, "N": 2**13}, {"levels": 20, "N": 2**14, "security": 256, "quantum": True},
    {"N": 2**10, "security": 192}, {"name": "n16-d40-boot-v1"}, {"name": "n16-d40-boot-v9"}, {"name": "own-mine"},
    {"name": "tfhe-2-2-v1"}, {"name": "Mine"}, {"name": ""}, {"name": "x" * 101}, {"name": "mine-insecure"},
    {"name": "mine", "security": None, "levels": 2}, {"name": "two words"}, {"name": "a\nb"},
    {"N": 1000, "scale": 3, "dnum": -1, "security": 1, "name": "test-x", "word": 90},
    {"N": 2**17, "scale": 23021378436.625656, "word": 28, "levels": 44}])
def test_refusals_name_what_is_accepted(bad):
    with pytest.raises(lt.ParameterError) as refused:
        make(bad)
    check_refusal(bad, refused.value)


@pytest.mark.parametrize("name", ["N", "levels", "scale", "word", "bootstrapping", "dnum", "secret", "security", "quantum",
                                  "name"])
def test_arguments_of_a_wrong_kind(name):
    for bad in ("seven", "", 1.5, math.nan, math.inf, -math.inf, 3 + 4j, object(), [None], ["x"], {}, b"x", 10**400):
        if name == "name" and isinstance(bad, str) and bad:
            continue
        try:
            lt.make_params(**({"N": 2**12, "levels": 1, "security": None} | {name: bad}))
        except lt.Error as error:
            assert isinstance(error, (lt.ValueError, lt.ParameterError)), error
        else:
            raise AssertionError(f"{name}={bad!r} is accepted")
    with pytest.raises(lt.ParameterError, match="a list of scales and a scale"):
        lt.make_params(levels=[2**40], scale=2**40)


def test_a_list_that_lists_of_terminals_do_not_serve_takes_free_ones():
    """At N = 2^16 no prime of its own serves these levels, and no list of terminals."""
    request = {"levels": [2**x for x in (45.9, 46.1, 48.1, 51.4, 47.2)], "word": 29}
    params = make(request)
    check_claims(request | {"N": 2**16, "security": 128, "quantum": False}, params)
    assert ":which" in params.explain() and lt.parameter_costs(params, "cpu").seconds["product"] > 0
    with pytest.raises(lt.ParameterError) as refused:
        make(request | {"word": 27})  # the refusal has the form of all others, not the planner's
    check_refusal(request | {"word": 27}, refused.value)


def free_lists():
    """Lists of scales at N = 2^12 and 2^13 whose sets have free terminals."""
    draw = random.Random(3)
    found = []
    while len(found) < 3:
        scale, scales = draw.uniform(33, 42), []
        for _ in range(draw.randint(6, 11)):
            scales.append(2.0**min(46, max(32, scale)))
            scale += draw.uniform(-2, 2)
        request = {"N": 2**draw.choice([12, 13]), "levels": scales, "word": draw.choice([28, 29]), "security": None}
        if ":" in make(request).canonical_text().split("levels ")[1].split("\n")[0]:
            found.append(request)
    return found


@pytest.mark.slow
def test_sets_with_free_terminals_compute(tmp_path):
    for request in free_lists():
        params = make(request)
        check_claims(request | {"quantum": False}, params)
        computes(params)
        lt.save_params(tmp_path / "free.params", params)
        assert lt.load_params(tmp_path / "free.params").hash == params.hash


def test_a_list_that_cannot_be_packed_names_the_level_and_scales_that_can():
    bits = (32.2, 52.0, 56.1, 47.4, 47.4, 58.0, 57.9, 58.4, 43.8, 34.9, 53.4)
    request = {"N": 2**17, "levels": [2**x for x in bits], "word": 29, "security": None}
    with pytest.raises(lt.ParameterError) as refused:
        make(request)
    assert re.search(r"\(level 4 with a scale of 2\^47.40 above .*, the nearest that do are 2\^47.01 and 2\^48.46\)",
                     str(refused.value)), refused.value
    assert alternatives(refused.value)[:2] == ["levels[4]=2**47.01", "levels[4]=2**48.46"]
    check_refusal(request, refused.value)


def test_numbers_of_numpy_are_numbers():
    plain = lt.make_params(N=2**13, levels=[2**40, 2**36, 2**36])
    assert lt.make_params(N=np.int64(8192), levels=np.array([2**40, 2**36, 2**36], dtype=float)).hash == plain.hash
    with pytest.raises(lt.ValueError, match="levels=True"):
        lt.make_params(levels=True)


@pytest.mark.parametrize("quantum", [False, True])
@pytest.mark.parametrize("security", [128, 192, 256])
def test_sets_stay_below_the_published_tables(security, quantum):
    """Security guidelines, eprint 2024/463: Table 5.2, and the output of its program."""
    table = {(128, False): (26, 53, 106, 214, 430, 868, 1747, 3523), (192, False): (0, 36, 73, 147, 297, 597, 1199, 2411),
             (256, False): (0, 27, 56, 114, 230, 462, 929, 1866), (128, True): (25, 50, 101, 202, 409, 825, 1663, 3348),
             (192, True): (0, 34, 69, 140, 283, 570, 1145, 2301), (256, True): (0, 26, 53, 108, 219, 442, 888, 1784)}
    for log_n in range(13, 18):
        params = lt.make_params(N=2**log_n, scale=2**30, security=security, quantum=quantum)
        bound = table[security, quantum][log_n - 10]
        assert bound - 75 < params.log_pq <= bound
        assert params.security_bits(quantum) >= security and str(security) in params.explain()
    with pytest.raises(lt.ParameterError, match="weight"):
        lt.make_params(N=2**16, secret=192, security=security, quantum=quantum)


def test_files(tmp_path):
    params = lt.make_params(N=2**12, levels=3, scale=2**33.5, security=None, name="mine-insecure-v1")
    path = tmp_path / "mine.params"
    lt.save_params(path, params)
    loaded = lt.load_params(path)
    assert loaded.hash == params.hash and loaded.name == "mine-insecure-v1"
    assert loaded.canonical_text() == params.canonical_text()
    data = path.read_bytes()
    for place in range(0, len(data), 7):
        path.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1:])
        with pytest.raises(lt.Error):
            lt.load_params(path)
    path.write_bytes(data[:-1])
    with pytest.raises(lt.FileError):
        lt.load_params(path)
    with pytest.raises(lt.FileError, match="missing/mine.params: No such file"):  # the file that was requested
        lt.save_params(tmp_path / "missing" / "mine.params", params)


def test_sets_of_ones_own_are_chosen():
    """A set that is cheaper than the presets, or the only one that works, is the choice."""
    mine = lt.make_params(N=2**13, levels=1, scale=2**40, name="mine")
    choice = lt.choose(lambda x: x * x, lt.Shape((64,), None, (-1, 1)), bits=20, own=[mine], device="cpu")
    assert choice.preset == "mine" and choice.params.hash == mine.hash and choice.plan.levels == (0,)
    lt.Context(choice.params, "cpu")
    with pytest.raises(lt.ParameterError, match="two sets named mine"):
        lt.choose(lambda x: x, lt.Shape((4,)), own=[mine, mine])
    for bad in (["mine"], "mine", 3):
        with pytest.raises(lt.Error):
            lt.choose(lambda x: x, lt.Shape((4,)), own=bad)


@pytest.mark.slow
def test_costs():
    params = lt.make_params(N=2**13, levels=3, scale=2**36)
    costs, gpu = lt.parameter_costs(params, "cpu"), lt.parameter_costs(params, "cuda")
    assert min(costs.seconds.values()) > 0 and gpu.seconds["product"] < costs.seconds["product"]
    assert costs.ciphertext_bytes == 8 * params.n * params.limbs(3) and costs.key_bytes <= params.switching_key_bytes
    assert "predicted (cpu)" in str(costs) and "bootstrapping" not in costs.seconds and 15 < costs.bits < 36
    assert "bootstrapping" in lt.parameter_costs("n16-d40-boot-v1", "cuda").seconds
    assert math.isnan(lt.parameter_costs(lt.make_params(N=2**12, levels=[2**40])).bits)
    with pytest.raises(lt.Error):
        lt.parameter_costs(3)


def test_the_command(tmp_path, capsys):
    from latticino import cli

    path = tmp_path / "a.params"
    assert cli.main(["params", "--N", "2**13", "--levels", "2", "--scale", "2^36", "--device", "cpu", "--save",
                     str(path)]) == 0
    shown = capsys.readouterr().out
    assert "at least 128 bits" in shown and "product" in shown and "own-n13-d36-l2" in shown
    assert lt.load_params(path).hash == lt.make_params(N=2**13, levels=2, scale=2**36).hash
    assert cli.main(["params", "--N", "8192", "--levels", "2**40,2**36,2**36", "--security", "none"]) == 0
    assert "INSECURE" in capsys.readouterr().out
    assert cli.main(["params", "--N", "8192", "--levels", "90"]) == 1
    assert "ask for levels=" in capsys.readouterr().err
    for bad in (["--save", "/dev/null/x"], ["--save", "/dev/full"], ["--save", str(tmp_path)], ["--device", "gpu"],
                ["--device", "cuda:-1"], ["--device", "cuda:x"]):
        assert cli.main(["params", "--N", "8192", "--levels", "2", *bad]) == 1
        out = capsys.readouterr()
        assert out.out == "" and out.err.count("\n") == 1, "refused before anything is printed"
    for option, words in (("--secret", "ternary"), ("--security", "none")):
        with pytest.raises(SystemExit):
            cli.main(["params", option, "binary"])
        assert words in capsys.readouterr().err
    for bad in (["--N", "x"], ["--levels", "1.5"], ["--scale", "(-2)**0.5"], ["--secret", "dense"], ["--N", "nan"]):
        with pytest.raises(SystemExit):
            cli.main(["params", *bad])
        capsys.readouterr()


@pytest.mark.parametrize("request_, had", [
    (dict(levels=0), "levels=0;"), (dict(levels=-1), "levels=-1;"), (dict(word=0), "word=0;"), (dict(dnum=0), "dnum=0;"),
    (dict(secret=0), "weight 0;"), (dict(security=0), "security=0;"), (dict(security=-1), "security=-1;"), (dict(name=""), "name=''")])
def test_what_was_passed_is_named(request_, had):
    with pytest.raises(lt.ParameterError) as e:
        lt.make_params(**request_)
    assert f"had {had}" in str(e.value) or had in str(e.value).split("; needs")[0] + ";"


@pytest.mark.parametrize("request_", [dict(N=0), dict(levels=10**6), dict(word=3), dict(N=0, levels=10**6, word=3)])
def test_no_remedy_sets_anything_twice(request_):
    with pytest.raises(lt.ParameterError) as e:
        lt.make_params(**request_)
    for remedy in alternatives(e.value):
        names = [setting.partition("=")[0] for setting in remedy.split(" and ")]
        assert len(names) == len(set(names)), remedy
    check_refusal(request_, e.value)
