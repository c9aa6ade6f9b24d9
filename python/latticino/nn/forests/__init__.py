"""Decision trees, forests and boosted trees of scikit-learn: how they are read, become graphs, and show in plans."""
