"""Networks on encrypted data: from a trained model to a program that runs encrypted. See docs/networks.md."""

from .compiled import Compiled, Network
from .compiling import compile
from .labels.decisions import UndecidedWarning
from .loading import load
from .lowered import Affine, Grid, Lowered, Node, Series
from .plan import LayerPlan, NetworkPlan

__all__ = ["Affine", "Compiled", "Grid", "LayerPlan", "Lowered", "Network", "NetworkPlan", "Node", "Series",
           "UndecidedWarning", "compile", "load"]
