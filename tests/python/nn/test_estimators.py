"""Graphs of scikit-learn's estimators give the results of the estimators."""

import numpy as np
import pytest

import latticino as lt
from latticino.nn import estimators, reference
from latticino.nn.reading import read

pytest.importorskip("sklearn")
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def data(classes=2):
    r = np.random.default_rng(classes)
    x = r.normal(size=(200, 6)) * [1, 2, 3, 10, 0.1, 1] + [0, 5, 0, -3, 0, 1]
    y = x @ r.normal(size=(6, 3)) + 0.1 * r.normal(size=(200, 3))
    return x, y, (y[:, 0] > 0).astype(int) if classes == 2 else y.argmax(axis=1)


def linear_models():
    from sklearn import discriminant_analysis, linear_model, svm
    return [linear_model.OrthogonalMatchingPursuit(), linear_model.PassiveAggressiveRegressor(), svm.SVC(kernel="linear"),
            svm.SVR(kernel="linear"), discriminant_analysis.QuadraticDiscriminantAnalysis(), linear_model.LinearRegression(), linear_model.Ridge(), linear_model.Lasso(0.1), linear_model.SGDRegressor(),
            svm.LinearSVR(), linear_model.BayesianRidge(), linear_model.LogisticRegression(), svm.LinearSVC(),
            linear_model.RidgeClassifier(), linear_model.SGDClassifier(), linear_model.Perceptron(),
            discriminant_analysis.LinearDiscriminantAnalysis()]


@pytest.mark.parametrize("model", linear_models(), ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("classes", [2, 3])
def test_linear_models(model, classes):
    from sklearn.base import clone, is_classifier
    x, y, labels = data(classes)
    model = clone(model)
    if type(model).__name__ == "SVC" and classes > 2:
        with pytest.raises(lt.UnsupportedError, match="layer SVC: had a SVC of 3 classes, .*OneVsRestClassifier"):
            estimators.read(model.fit(x, labels))
        return
    if is_classifier(model):
        model.fit(x, labels)
        wanted = model.decision_function(x)
    else:
        model.fit(x, y[:, 0])
        wanted = model.predict(x)
    got = reference.run(estimators.read(model), x)
    assert np.allclose(got.reshape(wanted.shape), wanted, atol=1e-9)
    assert np.allclose(read(model, calibration=x).lowered.evaluate(x), got, atol=1e-9)


def test_several_results():
    from sklearn.linear_model import LinearRegression
    x, y, _ = data()
    model = LinearRegression().fit(x, y)
    assert np.allclose(reference.run(estimators.read(model), x), model.predict(x))
    assert reference.run(estimators.read(LinearRegression(fit_intercept=False).fit(x, y)), x).shape == (200, 3)


@pytest.mark.parametrize("activation", ["relu", "tanh", "logistic", "identity"])
def test_networks_in_pipelines(activation):
    from sklearn.neural_network import MLPClassifier, MLPRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    x, y, labels = data(3)
    regressor = make_pipeline(StandardScaler(), MLPRegressor(hidden_layer_sizes=(9, 5), activation=activation, max_iter=40)).fit(x, y)
    graph = estimators.read(regressor)
    assert np.allclose(reference.run(graph, x), regressor.predict(x), atol=1e-9)
    classifier = make_pipeline(StandardScaler(), MLPClassifier(hidden_layer_sizes=(9,), activation=activation, max_iter=40)).fit(x, labels)
    scores = reference.run(estimators.read(classifier), x)
    assert np.array_equal(scores.argmax(axis=1), classifier.predict(x))
    reading = read(classifier, calibration=x)
    assert len([n for n in reading.lowered.nodes if n.op == "affine"]) == (1 if activation == "identity" else 2)
    assert np.mean(reading.lowered.evaluate(x).argmax(axis=1) == classifier.predict(x)) > 0.98


def test_scalers_and_projections():
    from sklearn import decomposition, preprocessing
    from sklearn.pipeline import make_pipeline
    x, _, _ = data()
    steps = [preprocessing.StandardScaler(), preprocessing.StandardScaler(with_mean=False),
             preprocessing.StandardScaler(with_std=False), preprocessing.MinMaxScaler((-1, 2)),
             preprocessing.MinMaxScaler(clip=True), preprocessing.MaxAbsScaler(), preprocessing.RobustScaler(),
             preprocessing.RobustScaler(with_centering=False), decomposition.PCA(3), decomposition.PCA(3, whiten=True),
             decomposition.TruncatedSVD(2)]
    for step in steps:
        assert np.allclose(reference.run(estimators.read(step.fit(x)), x), step.transform(x), atol=1e-9), step
    nested = make_pipeline(make_pipeline(steps[0], "passthrough"), decomposition.PCA(2)).fit(x)
    assert np.allclose(reference.run(estimators.read(nested), x), nested.transform(x), atol=1e-9)


def test_discriminant_analysis_before_the_last_step_gives_its_axes():
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    for classes, options in [(2, {}), (3, {}), (3, dict(n_components=1)), (3, dict(solver="eigen", n_components=2))]:
        x, _, labels = data(classes)
        model = make_pipeline(LinearDiscriminantAnalysis(**options), LogisticRegression()).fit(x, labels)
        wanted = model.decision_function(x)
        assert np.allclose(reference.run(estimators.read(model), x).reshape(wanted.shape), wanted, atol=1e-9), options


def test_bayes_gives_the_joint_log_likelihood():
    from sklearn import naive_bayes
    x, _, labels = data(3)
    for model in (naive_bayes.GaussianNB(), naive_bayes.MultinomialNB(), naive_bayes.ComplementNB()):
        own = x if isinstance(model, naive_bayes.GaussianNB) else np.floor(np.abs(x))
        wanted = model.fit(own, labels).predict_joint_log_proba(own)
        got = reference.run(estimators.read(model), own)
        assert np.allclose(got, wanted) and np.array_equal(got.argmax(axis=1), model.predict(own)), model


def test_regressions_with_other_links_and_means():
    from sklearn import linear_model
    from sklearn.cross_decomposition import PLSRegression
    x, y, _ = data()
    for model in (linear_model.PoissonRegressor(), linear_model.GammaRegressor(), linear_model.TweedieRegressor(power=0),
                  linear_model.TweedieRegressor(power=1.5), linear_model.TweedieRegressor(power=0, link="log"), PLSRegression(2)):
        wanted = model.fit(x, np.exp(y[:, 0] / 20)).predict(x)
        assert np.allclose(reference.run(estimators.read(model), x)[:, 0], wanted), model
    assert reference.run(estimators.read(PLSRegression(2).fit(x, y)), x).shape == (200, 3)


def test_features_chosen_multiplied_and_scaled_apart():
    from sklearn import compose, decomposition, feature_selection, preprocessing
    from sklearn.pipeline import make_pipeline
    x, _, labels = data()
    apart = compose.ColumnTransformer([("a", preprocessing.StandardScaler(), [3, 0]), ("b", "drop", [1]),
                                       ("c", make_pipeline(preprocessing.MinMaxScaler(), decomposition.PCA(2)), slice(2, 5)),
                                       ("d", preprocessing.MaxAbsScaler(), [True] + 5 * [False])], remainder="passthrough")
    for step in (apart, feature_selection.SelectKBest(k=2), feature_selection.VarianceThreshold(1.0),
                 preprocessing.PolynomialFeatures(2), preprocessing.PolynomialFeatures(3, include_bias=False, interaction_only=True),
                 decomposition.IncrementalPCA(2, whiten=True), preprocessing.FunctionTransformer()):
        wanted = step.fit(x, labels).transform(x)
        assert np.allclose(reference.run(estimators.read(step), x), wanted, atol=1e-9), step
    pandas = pytest.importorskip("pandas")
    named = pandas.DataFrame(x, columns=list("abcdef"))
    by_name = compose.ColumnTransformer([("a", preprocessing.StandardScaler(), ["f", "b"]), ("b", preprocessing.MaxAbsScaler(), ["a"])])
    assert np.allclose(reference.run(estimators.read(by_name.fit(named)), x), by_name.transform(named))


def test_estimators_around_others():
    from sklearn import linear_model, multiclass, multioutput, svm
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    x, y, labels = data(3)
    found = GridSearchCV(make_pipeline(StandardScaler(), svm.LinearSVC()), {"linearsvc__C": [0.1, 1]}).fit(x, labels)
    each = multiclass.OneVsRestClassifier(svm.SVC(kernel="linear")).fit(x, labels)
    for model in (found, each, make_pipeline(StandardScaler(), each).fit(x, labels)):
        assert np.allclose(reference.run(estimators.read(model), x), model.decision_function(x), atol=1e-9)
    several = multioutput.MultiOutputRegressor(make_pipeline(StandardScaler(), linear_model.Ridge())).fit(x, y)
    robust = linear_model.RANSACRegressor(random_state=0).fit(x, y)
    for model in (several, robust):
        assert np.allclose(reference.run(estimators.read(model), x), model.predict(x), atol=1e-9)
    with pytest.raises(lt.ValueError, match="without best_estimator_; .*refit=True"):
        estimators.read(GridSearchCV(linear_model.Ridge(), {"alpha": [1]}, refit=False).fit(x, y))


def test_one_against_the_rest_gives_a_score_for_each_class():
    """Naive Bayes gave two scores for each class, so that the argmax of all was no class."""
    from sklearn import discriminant_analysis, linear_model, multiclass, naive_bayes, neural_network
    for inner in (naive_bayes.GaussianNB(), naive_bayes.MultinomialNB(), naive_bayes.ComplementNB(),
                  discriminant_analysis.QuadraticDiscriminantAnalysis(), linear_model.LogisticRegression(),
                  neural_network.MLPClassifier((4,), max_iter=20, random_state=0)):
        for classes in (2, 3):
            x, _, labels = data(classes)
            own = np.floor(np.abs(x)) if type(inner).__name__ in ("MultinomialNB", "ComplementNB") else x
            model = multiclass.OneVsRestClassifier(inner).fit(own, labels)
            got = reference.run(estimators.read(model), own)
            assert got.shape == (len(own), 1 if classes == 2 else 3), inner
            chosen = got[:, 0] > 0 if classes == 2 else got.argmax(axis=1)
            assert np.mean(model.classes_[chosen.astype(int)] == model.predict(own)) > 0.99, inner


def test_what_has_no_encrypted_form():
    from sklearn.ensemble import BaggingClassifier
    from sklearn.linear_model import Ridge
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, QuantileTransformer, StandardScaler
    from sklearn.svm import SVC
    x, _, labels = data()
    with pytest.raises(lt.UnsupportedError, match="the kernel 'rbf'; .*trees instead"):
        estimators.read(SVC().fit(x, labels))
    with pytest.raises(lt.UnsupportedError, match="a FunctionTransformer with a function; .* on the client"):
        estimators.read(make_pipeline(FunctionTransformer(np.exp), Ridge()).fit(x, labels))
    with pytest.raises(lt.UnsupportedError, match="layer BaggingClassifier: .*train a tree, a forest or gradient boosting"):
        estimators.read(BaggingClassifier(n_estimators=3).fit(x, labels))
    with pytest.raises(lt.UnsupportedError, match="a KNeighborsClassifier.*train one of them instead"):
        estimators.read(KNeighborsClassifier().fit(x, labels))
    with pytest.raises(lt.UnsupportedError, match="layer quantiletransformer: .* on the client before encrypting"):
        estimators.read(make_pipeline(StandardScaler(), QuantileTransformer(n_quantiles=10)).fit(x))
    with pytest.raises(lt.ValueError, match=r"call fit\(\) first"):
        estimators.read(Ridge())
