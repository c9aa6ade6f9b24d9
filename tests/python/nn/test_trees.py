"""Decision trees: the graph against scikit-learn, the gap of comparisons, and encrypted runs."""

import json

import numpy as np
import pytest

import latticino as lt
from latticino.nn import estimators, reference
from latticino.nn.forests import graphs, trees
from latticino.nn.ranges import Normal
from latticino.nn.reading import read

pytest.importorskip("sklearn")
SMALL = "test-n10-boot-insecure"  # a ciphertext has 512 slots


def rng(seed=0):
    return np.random.default_rng(seed)


def on_a_grid(seed=0, count=300, wide=5):
    """Integers, a grid of 1/16, a binary feature, a constant one, and a class of three."""
    r = rng(seed)
    x = np.column_stack([r.integers(0, 17, count), r.integers(-40, 41, count) / 16, r.integers(0, 2, count),
                         np.full(count, 3.0), r.integers(0, 100, count)])[:, :wide].astype(float)
    score = x[:, 0] / 16 + x[:, 1] + 0.3 * r.normal(size=count)
    return x, score, np.digitize(score, [-0.5, 1.0])


def numbers(seed=0, count=400):
    r = rng(seed)
    x = r.normal(size=(count, 4)) * [1, 1e-3, 1e4, 5] + [0, 1, -1e5, 0]
    score = x[:, 0] + (x[:, 1] - 1) * 1e3 * (x[:, 2] > -1e5) + 0.1 * r.normal(size=count)
    return x, score, np.digitize(score, [-0.7, 0.7])


def models(seed=0):
    from sklearn import ensemble, tree
    return [tree.DecisionTreeClassifier(max_depth=4, random_state=seed), tree.DecisionTreeRegressor(max_depth=3),
            tree.ExtraTreeRegressor(max_depth=5, random_state=seed),
            ensemble.RandomForestClassifier(5, max_depth=3, random_state=seed),
            ensemble.RandomForestRegressor(4, max_depth=4, random_state=seed),
            ensemble.ExtraTreesClassifier(5, max_depth=4, random_state=seed), ensemble.ExtraTreesRegressor(3, max_depth=3),
            ensemble.GradientBoostingClassifier(n_estimators=4), ensemble.GradientBoostingRegressor(n_estimators=8),
            ensemble.GradientBoostingRegressor(n_estimators=3, init="zero", max_depth=2),
            ensemble.HistGradientBoostingClassifier(max_iter=4, max_depth=3),
            ensemble.HistGradientBoostingRegressor(max_iter=5, max_depth=3)]


def wanted(model, x):
    """The predictions of a regressor, or the scores of a classifier."""
    if type(model).__name__.endswith("Regressor"):
        return model.predict(x)
    return model.decision_function(x) if "Boosting" in type(model).__name__ else model.predict_proba(x)


def fitted(model, x, score, labels):
    return model.fit(x, score if type(model).__name__.endswith("Regressor") else labels)


def equal_classes(got, want, error):
    """Whether two classifiers have the same best result. Inputs do not count if the model's two best scores are closer
    than the error."""
    best = np.sort(want, axis=1)
    clear = best[:, -1] - best[:, -2] > 2 * error
    return np.array_equal(got.argmax(axis=1)[clear], want.argmax(axis=1)[clear])


@pytest.mark.parametrize("make", [on_a_grid, numbers])
@pytest.mark.parametrize("model", models(), ids=lambda m: type(m).__name__)
def test_graphs_give_what_scikit_learn_gives(model, make):
    x, score, labels = make()
    fitted(model, x[:200], score[:200], labels[:200])
    want = wanted(model, x).reshape(len(x), -1)
    exact = trees.read("", model, [k.__name__ for k in type(model).__mro__]).predict(x)
    assert np.allclose(exact.reshape(want.shape), want, atol=1e-12)
    for form in graphs.FORMS:
        got = reference.run(estimators.read(model, x[:200], form=form), x).reshape(want.shape)
        different = ~np.isclose(got, want, atol=1e-9).all(axis=1)
        assert not different.any() if make is on_a_grid else different.mean() < 0.01


@pytest.mark.parametrize("depth", range(1, 9))
def test_depths(depth):
    from sklearn.tree import DecisionTreeClassifier
    x, _, labels = on_a_grid(depth)
    model = DecisionTreeClassifier(max_depth=depth, random_state=0).fit(x[:200], labels[:200])
    for form in graphs.FORMS:
        lowered = read(model, calibration=x[:200], form=form)
        got = lowered.lowered.evaluate(lowered.normal(x))
        assert np.abs(got - model.predict_proba(x)).max() < depth * 2.0**-9


def test_a_gap_that_no_grid_value_is_within():
    """For data on grids the results equal the model's exactly, whatever the grid values are."""
    from sklearn.ensemble import ExtraTreesClassifier
    x, _, labels = on_a_grid(3)
    model = ExtraTreesClassifier(6, max_depth=4, random_state=1).fit(x, labels)
    ensemble = estimators.ensemble("", model)
    found = graphs.compared(ensemble, x, x)
    assert found.exact
    r = rng(5)
    fresh = np.column_stack([r.integers(0, 17, 5000), r.integers(-40, 41, 5000) / 16, r.integers(0, 2, 5000),
                             np.full(5000, 3.0), r.integers(0, 100, 5000)]).astype(float)
    away = np.abs(fresh[:, found.feature] - found.threshold) / found.width
    assert away.min() >= found.gap
    enc = lt.nn.compile(model, calibration=x, preset="n15-d30-leveled-v1", device="cpu")
    got, want = enc.shadow(fresh), model.predict_proba(fresh)
    assert np.abs(got - want).max() < 2.0**-8 and equal_classes(got, want, 2.0**-8)


def test_values_beyond_the_gap_agree_and_values_within_lie_between():
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.tree import DecisionTreeRegressor
    x, score, labels = numbers(7)
    model = RandomForestClassifier(5, max_depth=3, random_state=0).fit(x[:200], labels[:200])
    found = graphs.compared(estimators.ensemble("", model), x[:200], x[:200])
    reading = read(model, calibration=x)
    fit, = reading.fits.values()
    fresh, _, _ = numbers(8, 4000)
    fresh = np.clip(fresh, x.min(axis=0), x.max(axis=0))
    found = graphs.compared(estimators.ensemble("", model), x, x)
    far = (np.abs(fresh[:, found.feature] - found.threshold) / found.width >= fit.gap * 1.001).all(axis=1)
    assert far.mean() > 0.5 and (~far).any()
    got, want = reading.lowered.evaluate(reading.normal(fresh)), model.predict_proba(fresh)
    assert np.abs(got - want)[far].max() < 2.0**-8 and equal_classes(got[far], want[far], 2.0**-8)
    # Within the gap the result is a mean of the leaves on both sides.
    single = DecisionTreeRegressor(max_depth=1).fit(x, score)
    reading = read(single, calibration=x)
    at = np.tile(x[:1], (201, 1))
    f, t = single.tree_.feature[0], single.tree_.threshold[0]
    at[:, f] = t + np.linspace(-0.02, 0.02, 201) * x[:, f].std()
    out = reading.lowered.evaluate(reading.normal(at))[:, 0]
    low, high = sorted(single.tree_.value[1:, 0, 0])
    assert low - 1e-2 < out.min() and out.max() < high + 1e-2 and ((out > low + 0.1) & (out < high - 0.1)).any()


def test_values_outside_of_the_range_are_on_the_right_side():
    from sklearn.ensemble import GradientBoostingRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    x, score, _ = on_a_grid(2)
    for model in (GradientBoostingRegressor(n_estimators=5), make_pipeline(StandardScaler(), GradientBoostingRegressor(n_estimators=5))):
        model.fit(x, score)
        # Calibration data that are on one side of most thresholds.
        reading = read(model, calibration=x[x[:, 0] < 4])
        assert reading.normal.clips
        far = np.concatenate([x, x + 1000, x - 1000, x * 50])
        got = reading.lowered.evaluate(np.clip(reading.normal(far), -1.25, 1.25))[:, 0]
        assert np.abs(got - model.predict(far)).max() < 2.0**-6


def test_behind_a_projection_values_outside_raise():
    from sklearn.decomposition import PCA
    from sklearn.pipeline import make_pipeline
    from sklearn.tree import DecisionTreeClassifier
    x, _, labels = on_a_grid(4)
    model = make_pipeline(PCA(3, random_state=0), DecisionTreeClassifier(max_depth=3, random_state=0)).fit(x, labels)
    enc = lt.nn.compile(model, calibration=x, preset=SMALL, device="cpu", fits={"decisiontreeclassifier.compare": 0.05})
    assert enc.shadow(x).shape == (300, 3)
    x[7, 1] = 40
    with pytest.raises(lt.ValueError, match="had 40 as feature 1 of sample 7"):
        enc.shadow(x)
    with pytest.raises(lt.ValueError, match="feature 1 of sample 0.*larger margin"):
        enc.encrypt(lt.keygen(enc.context), x[7])


def test_odd_trees():
    from sklearn.ensemble import GradientBoostingClassifier, RandomForestRegressor
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
    x, score, labels = on_a_grid(1)
    leaf = DecisionTreeRegressor().fit(x, np.full(300, 2.5))
    enc = lt.nn.compile(leaf, calibration=x, preset=SMALL, device="cpu")
    assert np.allclose(enc.shadow(x), 2.5)
    # One-sided trees, which are chains of leaves. Some trees have no split.
    chain = DecisionTreeRegressor(max_leaf_nodes=9).fit(x[:, :1], np.exp(x[:, 0]))
    some = RandomForestRegressor(4, max_depth=2, min_impurity_decrease=0.2, random_state=0).fit(x, score)
    several = DecisionTreeRegressor(max_depth=3).fit(x, np.column_stack([score, -score, x[:, 1]]))
    weighted = DecisionTreeClassifier(max_depth=3, random_state=0).fit(x, labels, sample_weight=rng().random(300))
    one_class = DecisionTreeClassifier().fit(x, np.zeros(300))
    binary = GradientBoostingClassifier(n_estimators=3).fit(x, labels > 0)
    for model, data in ((chain, x[:, :1]), (some, x), (several, x), (weighted, x), (one_class, x), (binary, x)):
        want = wanted(model, data).reshape(300, -1)
        for form in graphs.FORMS:
            reading = read(model, calibration=data, form=form)
            got = reading.lowered.evaluate(reading.normal(data)).reshape(want.shape)
            assert np.abs(got - want).max() < 2.0**-8 * max(1.0, np.abs(want).max())


@pytest.mark.slow
def test_missing_values_and_categories():
    from sklearn.ensemble import HistGradientBoostingRegressor
    from sklearn.tree import DecisionTreeRegressor
    x, score, _ = on_a_grid(6)
    gaps = np.where(rng(1).random(x.shape) < 0.1, np.nan, x)
    for model in (HistGradientBoostingRegressor(max_iter=4, max_depth=3), DecisionTreeRegressor(max_depth=4)):
        model.fit(gaps, score)  # a model that saw missing values is right for inputs without
        got = reference.run(estimators.read(model, x), x)[:, 0]
        assert np.allclose(got, model.predict(x), atol=1e-9)
        with pytest.raises(lt.ValueError, match="NaN or infinity in the calibration data"):
            read(model, calibration=gaps)
    enc = lt.nn.compile(model, calibration=x, preset=SMALL, device="cpu", fits={"trees.compare": 0.05})
    with pytest.raises(lt.ValueError, match="NaN"):
        enc.shadow(gaps)
    kinds = HistGradientBoostingRegressor(max_iter=3, categorical_features=[2]).fit(x, 3.0 * x[:, 2] + 0.01 * score)
    with pytest.raises(lt.UnsupportedError, match="splits by categories.*on the client"):
        read(kinds, calibration=x)


def test_what_is_refused():
    from sklearn import ensemble, tree
    x, score, labels = on_a_grid(1)
    refused = [(tree.DecisionTreeClassifier(max_depth=2).fit(x, np.column_stack([labels, labels])), "2 results at once"),
               (ensemble.BaggingClassifier(n_estimators=2).fit(x, labels), "a BaggingClassifier"),
               (ensemble.IsolationForest(n_estimators=2).fit(x), "an? IsolationForest"),
               (ensemble.RandomTreesEmbedding(n_estimators=2).fit(x), "a RandomTreesEmbedding"),
               (ensemble.AdaBoostClassifier(n_estimators=2).fit(x, labels), "a AdaBoostClassifier"),
               (ensemble.HistGradientBoostingRegressor(loss="poisson", max_iter=2).fit(x, np.exp(score)), "loss='poisson'"),
               (ensemble.GradientBoostingRegressor(n_estimators=2, init=tree.DecisionTreeRegressor(max_depth=1)).fit(x, score), "init=DecisionTreeRegressor")]
    for model, message in refused:
        with pytest.raises(lt.UnsupportedError, match=message):
            read(model, calibration=x)
    model = tree.DecisionTreeClassifier(max_depth=2).fit(x, labels)
    with pytest.raises(lt.UnsupportedError, match="no calibration data"):
        read(model)
    with pytest.raises(lt.ShapeError):
        read(model, calibration=x[:, :3])
    with pytest.raises(lt.ValueError, match=r"call fit\(\) first"):
        read(tree.DecisionTreeClassifier(), calibration=x)
    for fits in ({"trees.compare": 0.9}, {"trees.compare": 5}, {"trees": 0.1}):
        with pytest.raises(lt.ValueError):
            read(model, calibration=x, fits=fits)


def test_the_grid_of_a_feature():
    assert graphs.grid(np.array([0.0, 2, 5])) == (0.0, 1.0)
    assert graphs.grid(np.array([0.25, 0.5, 1.0])) == (0.25, 0.25)
    assert graphs.grid(np.array([4.0])) is None and graphs.grid(np.sort(rng().normal(size=50))) is None
    # A threshold that is a grid value, or differs from one by less than rounding, keeps that value on its side.
    distinct = np.arange(5.0)
    at = np.array([2.0, 1.9999, 2.0001, 2.5, 0.0])
    assert graphs._between(at, distinct, 0.0, 1.0).tolist() == [2.5, 1.5, 2.5, 2.5, 0.5]


# ---- encrypted ----


def encrypted_cases():
    from sklearn import ensemble, tree
    return {"tree": tree.DecisionTreeClassifier(max_depth=3, random_state=0),
            "stumps": ensemble.GradientBoostingRegressor(n_estimators=4, max_depth=1),
            "forest": ensemble.RandomForestRegressor(3, max_depth=2, random_state=0),
            "boosted": ensemble.HistGradientBoostingClassifier(max_iter=2, max_depth=2, min_samples_leaf=5)}


@pytest.mark.parametrize("name", ["tree", "stumps", *(pytest.param(n, marks=pytest.mark.slow) for n in ("forest", "boosted"))])
def test_encrypted_runs_are_the_shadow(device, name, tmp_path):
    x, score, labels = on_a_grid(9)
    model = fitted(encrypted_cases()[name], x, score, labels)
    enc = lt.nn.compile(model, calibration=x, preset=SMALL, device=device, fits={"trees.compare": 0.03}, fit_bits=7)
    client = lt.keygen(enc.context)
    enc.context.use(enc.server_keys(client))
    most = np.abs(enc.shadow(x)).max()
    for k in range(2):
        got = enc.decrypt(client, enc(enc.encrypt(client, x[k]))).unmarked()
        assert np.abs(got - enc.shadow(x[k])[0]).max() < 2.0**-6 * most
    text = repr(enc.plan)
    assert "comparisons by sign polynomials" in text and "tables of TFHE would take" in text and "calibration inputs" in text
    if name == "tree":
        enc.save(tmp_path)
        half, server = lt.nn.load(tmp_path / "client.network"), lt.nn.load(tmp_path / "server.network", device)
        assert np.allclose(server.shadow(x * 9), enc.shadow(x * 9))
        server.context.use(half.server_keys(client2 := lt.keygen(server.context)))
        got = half.decrypt(client2, server(half.encrypt(client2, x[5] * 9))).unmarked()
        assert np.abs(got - enc.shadow(x[5] * 9)[0]).max() < 2.0**-6 * most


@pytest.mark.slow
@pytest.mark.parametrize("before", ["scaler", "projection"])
def test_features_and_results_of_any_size(device, before, tmp_path):
    """Income together with a ratio, after steps of a pipeline, and prices of 1e5: units of features and of results at
    once."""
    from sklearn.decomposition import PCA
    from sklearn.ensemble import RandomForestRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    r = rng(12)
    x = r.uniform(0.1, 1, (400, 4)) * [3e5, 90, 0.02, 1]
    x[:, 3] = 1
    price = 1e5 * (x[:, 0] / 3e5 - x[:, 2] / 0.02 + 0.1 * r.normal(size=400))
    first = [StandardScaler()] if before == "scaler" else [StandardScaler(), PCA(2, random_state=0)]
    model = make_pipeline(*first, RandomForestRegressor(3, max_depth=2, random_state=0)).fit(x, price)
    layer = "randomforestregressor.compare"
    enc = lt.nn.compile(model, calibration=x, preset=SMALL, device=device, fits={layer: 0.03}, fit_bits=7)
    assert enc.result_unit > 2.0**14 and "enc.decrypt multiplies by it" in repr(enc.plan)
    want = enc.shadow(x)
    assert np.median(np.abs(want[:, 0] - model.predict(x))) < 2.0**-6 * np.abs(price).max()
    enc.save(tmp_path)
    half, server = lt.nn.load(tmp_path / "client.network"), lt.nn.load(tmp_path / "server.network", device)
    assert half.result_unit == server.result_unit == enc.result_unit and np.array_equal(server.shadow(x), want)
    client = lt.keygen(server.context)
    server.context.use(half.server_keys(client))
    wrong = np.array([half.decrypt(client, server(half.encrypt(client, x[k]))).unmarked() - want[k] for k in range(3)])
    assert np.abs(wrong).max() < 2.0**-6 * np.abs(want).max()
    far = x[:1] * [50, 1, 1, 1]
    if before == "scaler":  # on the same side of all thresholds as the end of the range
        assert np.allclose(enc.shadow(far), model.predict(far), atol=2.0**-5 * np.abs(price).max())
    else:
        with pytest.raises(lt.ValueError, match="as feature 0 of sample 0"):
            half.encrypt(client, far[0])


def test_units_of_units():
    x = rng(1).normal(size=(50, 3)) * [1, 1e3, 1e-3] + 5
    normal, factors = Normal.of(x), np.array([1, 0.5, 0.25])
    assert np.allclose(normal.times(factors)(x), normal(x) / factors, rtol=1e-12)
    assert np.array_equal(Normal.plain((3,)).times(factors)(x), x / factors)


@pytest.mark.slow
@pytest.mark.parametrize("images, leaves", [(8, 4), (1, 200)])
def test_both_packings_in_one_ciphertext_and_in_several(device, images, leaves):
    from sklearn.tree import DecisionTreeRegressor

    from latticino.nn.compiling import compiled
    x, score, _ = on_a_grid(10, wide=3)
    model = DecisionTreeRegressor(max_depth=2 if leaves == 4 else 8).fit(x, score)
    for form in graphs.FORMS:
        found = read(model, calibration=x, form=form, fits={"trees.compare": 0.03}, bits=7)
        enc = compiled(found.lowered, found.samples, SMALL, device, images=images)
        enc.reading, enc._normal = found, found.normal
        turns = [t.turns for several in enc._machine.transforms for t in several]
        assert any(turns) == (form == "copies") and enc.alone == (leaves == 4 or form == "shared")
        client = lt.keygen(enc.context)
        enc.context.use(enc.server_keys(client))
        got = enc.decrypt(client, enc(enc.encrypt(client, x[:images]))).unmarked()
        assert np.abs(got - enc.shadow(x[:images])).max() < 2.0**-5 * np.abs(score).max()


# ---- the demo ----


@pytest.mark.slow
def test_the_demo_runs_and_records(device, tmp_path, capsys, monkeypatch):
    from sklearn.tree import DecisionTreeClassifier

    from latticino import cli
    from latticino.workloads import trees as demo
    x, _, labels = on_a_grid(11, wide=2)
    model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(x[:200], labels[:200])
    monkeypatch.setattr(demo, "tasks", lambda: [demo.Task("tree", "integers", model, x[:200], x[200:], labels[200:])])
    record, picture = tmp_path / "trees.json", tmp_path / "trees.png"
    assert cli.main(["demo", "trees", "--preset", SMALL, "--device", device, "--encrypted", "12", "--record", str(record),
                     "--output", str(picture)]) == 0
    assert picture.stat().st_size > 10_000
    out = capsys.readouterr().out
    assert all(word in out for word in ("trees.compare", "12 of 12", "clear", "shadow", "levels"))
    row, = json.loads(record.read_text())
    assert row["name"] == "trees.input" and row["value"] > 0 and row["equal_classes"] == 12 and row["score_error"] < 0.01
    assert abs(row["score_bits"] - row["predicted_bits"]) < 2.5  # for 36 errors
    assert row["peak_bytes"] == pytest.approx(row["predicted_peak_bytes"], rel=0.005 if device == "cpu" else 0.05)
    assert min(row[name] for name in ("compile_s", "keys_s", "first_s")) > 0
    assert cli.main(["demo", "trees", "--images", "3"]) == 1
    assert "leave it out" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("encrypted", [0, 2])
def test_what_the_demo_draws(device, encrypted, tmp_path, monkeypatch):
    """The scores of all three are of one kind, so that their points lie on a line."""
    pytest.importorskip("matplotlib")
    from sklearn.ensemble import GradientBoostingClassifier
    from sklearn.tree import DecisionTreeClassifier

    from latticino.workloads import trees as demo
    x, _, labels = on_a_grid(12, wide=2)
    models = [DecisionTreeClassifier(max_depth=2, random_state=0),
              GradientBoostingClassifier(n_estimators=2, max_depth=2, random_state=0)]
    monkeypatch.setattr(demo, "tasks", lambda: [demo.Task(type(m).__name__, "integers", m.fit(x[:200], labels[:200]),
                                                          x[200:], x[200:], labels[200:]) for m in models])
    rows = demo.run(SMALL, device, encrypted)
    for row in rows:
        clear, shadow, got = row.scores
        assert clear.shape == shadow.shape and len(got) == encrypted
        assert np.abs(clear - shadow).max() < 0.02 * np.abs(clear).max()
        assert np.abs(got - shadow[:encrypted]).max(initial=0.0) < 0.02 * np.abs(clear).max()
    demo.plot(rows, tmp_path / "trees.png")
    assert (tmp_path / "trees.png").stat().st_size > 10_000


@pytest.mark.slow
def test_the_models_of_the_demo():
    from latticino.workloads import trees as demo
    boosted, forest = demo.tasks()
    assert boosted.model.score(boosted.x, boosted.y) > 0.94 and forest.model.score(forest.x, forest.y) > 0.92
