"""Decision trees, forests and boosted trees of scikit-learn: how they are read, how they become graphs, and how plans
describe them."""
