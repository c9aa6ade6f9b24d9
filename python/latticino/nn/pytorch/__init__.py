"""Modules of PyTorch as graphs: the operations that `torch.export` finds, and a rule for each of them."""
