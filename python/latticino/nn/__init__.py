"""Networks on encrypted data: from a trained model to a program that runs encrypted. See docs/networks.md."""
