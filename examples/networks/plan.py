"""The costs of the encrypted transformer on an H200, with random weights. This needs neither data nor a GPU.

    python examples/networks/plan.py                  # the size of transformer.py

Prints the plan, and how far its shadow is from what PyTorch computes.
"""

import argparse

import numpy as np
import torch
import transformer
from torch import nn

import latticino as lt


def model_of(asked):
    """Random weights, and batch norms with statistics as after training."""
    torch.manual_seed(asked.seed)
    model = transformer.network(asked.tokens, asked.width, asked.heads, asked.layers).double().eval()
    r = np.random.default_rng(asked.seed)
    for part in model.modules():
        if isinstance(part, nn.BatchNorm1d):
            part.running_mean.copy_(torch.as_tensor(0.1 * r.normal(size=part.num_features)))
            part.running_var.copy_(torch.as_tensor(0.5 + r.random(part.num_features)))
    return model


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name, value in (("tokens", transformer.TOKENS), ("width", transformer.WIDTH), ("heads", transformer.HEADS),
                        ("layers", transformer.LAYERS), ("seed", 0), ("inputs", 64)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--preset", default="n16-d40-boot-v1")
    parser.add_argument("--device", default="cuda")
    asked = parser.parse_args(arguments)
    model = model_of(asked)
    x = np.random.default_rng(asked.seed + 1).normal(size=(asked.inputs, asked.tokens, asked.width))
    enc = lt.nn.compile(model, x[:1], calibration=x, preset=asked.preset, device=asked.device)
    with torch.no_grad():
        wanted = model(torch.as_tensor(x)).numpy()
    off = float(np.abs(enc.shadow(x) - wanted).max() / np.abs(wanted).max())
    print(enc.plan)
    print(f"the shadow of {len(x)} random inputs is off by {off:.1e} of the largest result of PyTorch")
    return enc.plan, off


if __name__ == "__main__":
    main()
