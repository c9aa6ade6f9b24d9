"""Encrypted training on a small insecure set, against the same algorithm in the clear."""

import json
import warnings

import numpy as np
import pytest

import latticino as lt
from latticino import cli
from latticino.workloads import data, demo, helr


def separable(rows, columns, seed=3):
    rng = np.random.default_rng(seed)
    y = np.where(rng.uniform(size=rows) < 0.5, 1.0, -1.0)
    x = np.clip(0.5 + 0.25 * y[:, None] * rng.uniform(0, 1, columns) + 0.1 * rng.normal(size=(rows, columns)), 0, 1)
    x[:, 0] = 1
    return data.Dataset("made up", x[: rows // 2], y[: rows // 2], x[rows // 2 :], y[rows // 2 :])


@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize("rows", [32, 64])
def test_encrypted_training_follows_the_clear_one(ctx, client, rows, recorded):
    """32 rows of 16 fill one ciphertext; 64 take two, packed as a pair. Recorded steps take eta as it is."""
    made = separable(4 * rows, 16)
    settings = helr.Settings(iterations=3, rows=rows)
    batches = data.batches(made, rows)
    trainer = helr.Trainer(ctx, settings)
    ctx.use(client.server_keys(ctx.plan(trainer.cycle, *trainer.examples(batches[0]))))
    encrypted = [trainer.encrypt(client, z) for z in batches]
    state = trainer.first_state(client, 16)
    if recorded:
        assert trainer.record(state, encrypted[0]) == trainer.steps_between + 1
    refreshed, clear = 0, helr.clear_training(batches, settings)
    for t, (eta, expected) in enumerate(zip(helr.momentum(3), clear)):
        batch = encrypted[t % len(encrypted)]
        refreshed += trainer.needs_refresh(state)
        eager = trainer.step(trainer.refresh(state), batch, eta)
        state = trainer.refreshed_step(state, batch, eta)
        assert np.array_equal(client.decrypt(state).unmarked(), client.decrypt(eager).unmarked())
        got = np.array(client.decrypt(state)) * settings.bound
        assert lt.precision(got, expected).mean > 9
    assert refreshed == 2
    assert data.accuracy(got.real, made.x_test, made.y_test) == data.accuracy(
        expected.real, made.x_test, made.y_test)


@pytest.mark.parametrize("rows", [32, 64])
def test_a_plan_of_sample_data_claims_how_precise_the_weights_will_be(ctx, client, rows):
    made = separable(4 * rows, 16)
    settings = helr.Settings(iterations=4, rows=rows)
    batches = data.batches(made, rows)
    claimed = helr.Trainer(ctx, settings, sampled=True).predicted_precision(batches)
    trainer = helr.Trainer(ctx, settings)
    ctx.use(client.server_keys(ctx.plan(trainer.cycle, *trainer.examples(batches[0]))))
    state = trainer.first_state(client, 16)
    for t, eta in enumerate(helr.momentum(4)):
        state = trainer.refreshed_step(state, trainer.encrypt(client, batches[t % len(batches)]), eta)
    *_, expected = helr.clear_training(batches, settings)
    found = lt.precision(np.array(client.decrypt(state)) * settings.bound, expected)
    assert claimed.worst < claimed.mean and claimed.mean - 1 < found.mean < claimed.mean + 3.5, (claimed, found)
    # Declared ranges take the place of the values, and leave nothing to claim.
    declared = helr.Trainer(ctx, settings).predicted_precision(batches)
    assert declared.mean < claimed.mean - 3


def test_weights_and_momentum_may_bootstrap_apart(tmp_path):
    """The same training with two bootstrappings for each, and a row that says so."""
    both, apart = (demo.run("n16-d40-boot-v1", "not-encrypted", "digits", iterations=7, rows=64, merged=merged)
                   for merged in (True, False))
    assert (both.bootstraps, apart.bootstraps) == (2, 4)
    assert all(row.precision.mean > 9 for result in (both, apart) for row in result.rows)
    assert demo.row(apart)["params"]["separate"] == 1 and "separate" not in demo.row(both)["params"]
    with pytest.raises(lt.ParameterError, match="5 levels after bootstrapping"):
        demo.run("test-n10-boot-insecure", "not-encrypted", "digits", iterations=2, rows=32, merged=False)


def test_a_record_of_scales_has_a_row_for_each(tmp_path, monkeypatch):
    record = tmp_path / "record.json"
    command = ["demo", "helr", "--scales", "35,48", "--device", "not-encrypted", "--data", "digits", "--iterations", "2", "--rows", "32",
               "--separate", "--record", str(record)]
    assert cli.main(command) == 0
    rows = json.loads(record.read_text())
    assert [row["preset"] for row in rows] == ["n16-d35-boot-v1", "n16-d48-dr-boot-v1"]
    assert all(row["params"]["separate"] == 1 and row["accuracy"] == row["clear_accuracy"] for row in rows)
    assert cli.main([*command, "--preset", "n16-d35-boot-v1"]) == 1
    with pytest.raises(SystemExit):
        cli.main(["demo", "helr", "--scales", "41"])


def test_the_clear_algorithm_learns_the_bundled_digits():
    digits = data.digits()
    assert digits.columns == 64 and len(digits.x_train) == 256 and len(digits.x_test) == 101
    assert set(np.unique(digits.y_train)) == {-1.0, 1.0} and digits.x_train.max() == 1.0
    batches = data.batches(digits, 128)
    *_, last = helr.clear_training(batches, helr.Settings(iterations=16, rows=128))
    assert data.accuracy(last.real, digits.x_test, digits.y_test) >= 0.94
    assert np.abs(last).max() < 8


@pytest.mark.skipif(data.mnist_path() is None, reason="LATTICINO_DATA has no helr_mnist38.npz")
def test_the_clear_algorithm_reaches_the_paper_on_mnist():
    mnist = data.mnist()
    batches = data.batches(mnist, 1024)
    assert mnist.columns == 256 and len(batches) == 11
    *_, last = helr.clear_training(batches, helr.Settings(iterations=32, rows=1024))
    assert data.accuracy(last.real, mnist.x_test, mnist.y_test) >= 0.96


@pytest.mark.slow
def test_the_demo_runs_and_plots(device, tmp_path, capsys):
    result = demo.run("test-n12-boot-insecure", device, "digits", iterations=2, rows=32, repeat=2)
    demo.plot(result, tmp_path / "plot.png")
    assert (tmp_path / "plot.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    printed = capsys.readouterr().out
    assert "peak memory" in printed and "in the clear" in printed and result.bootstraps >= 1
    assert abs(result.accuracy - result.clear_accuracy) <= 0.01 and len(result.rows) == 2
    assert len(result.walls) == 2 and all(w > 0 for w in result.walls) and "median of 2 trainings" in printed
    assert demo.row(result)["mode"] == ("immediate" if device == "cpu" else "replayed")


def test_the_demo_replays_recorded_steps(device, capsys):
    """The same accuracy; the time of each iteration is the mean of all."""
    result = demo.run("test-n10-boot-insecure", device, "digits", iterations=3, rows=32, recorded=True)
    assert "steps of different levels recorded" in capsys.readouterr().out and demo.row(result)["mode"] == "replayed"
    assert len({row.seconds for row in result.rows}) == 1 and result.bootstraps == sum(r.bootstrapped for r in result.rows) > 0
    assert abs(result.accuracy - result.clear_accuracy) <= 0.01


@pytest.mark.slow
@pytest.mark.parametrize("recorded", [False, True])
def test_the_demo_predicts_its_memory(device, recorded):
    """The training goes through all four batches of 64 rows. The plan names exactly the keys that are used."""
    row = demo.row(demo.run("test-n12-boot-insecure", device, "digits", iterations=5, rows=64, recorded=recorded))
    assert row["predicted_key_bytes"] == row["key_bytes"]
    assert row["peak_bytes"] == pytest.approx(row["predicted_peak_bytes"], rel=0.03)
    assert row["params"]["predicted_ms"] > 0


@pytest.mark.slow
def test_a_whole_training_warns_of_no_range(device):
    """Bounds that follow from the data alone grow from step to step, so the training declares the range of its weights.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error", lt.RangeWarning)
        demo.run("test-n10-boot-insecure", device, "digits", iterations=16, rows=128)


@pytest.mark.parametrize("accuracy, status", [(0.95, 0), (0.96, 0), (0.94, 0), (0.961, 1), (0.5, 1)])
def test_the_demo_fails_where_the_encrypted_training_went_elsewhere(monkeypatch, capsys, accuracy, status):
    result = demo.Result("digits", "p", "cpu", accuracy=accuracy, clear_accuracy=0.95)
    monkeypatch.setattr(demo, "run", lambda *arguments: result)
    assert cli.main(["demo", "--no-plot"]) == status
    assert ("more than one" in capsys.readouterr().err) == bool(status)


def test_momentum_is_nesterovs():
    eta = helr.momentum(4)
    assert eta[0] == pytest.approx((1 - 0.01) / ((1 + np.sqrt(1.0004)) / 2))
    assert all(e < 0 for e in eta[2:]) and all(e > -1 for e in eta)


def test_unknown_data_is_refused(monkeypatch):
    with pytest.raises(lt.UnsupportedError):
        demo.choose_data("letters")
    with pytest.raises(lt.ValueError, match="--repeat 0"):
        demo.run("test-n12-boot-insecure", repeat=0)
    monkeypatch.delenv("LATTICINO_DATA", raising=False)
    with pytest.raises(lt.FileError, match="LATTICINO_DATA"):
        demo.choose_data("mnist")
