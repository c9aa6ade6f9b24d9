"""ResNet-20 for CIFAR-10 whose activations are learned polynomials of degree 2 (AESPA, Park et al. 2022).

    python examples/networks/resnet20_aespa.py --out trained/resnet20_aespa
"""

import cifar
from layers import Quadratic
from shared import Run, options


def network(width=16):
    return cifar.ResNet20(Quadratic, width)


def main(arguments=None):
    run = Run(options("resnet20_aespa", 80, 256, 0.1, arguments, teacher_epochs=20, width=16, **cifar.BOUNDS))
    return cifar.train(run, network(run.asked.width), cifar.teacher(2 * run.asked.width))


if __name__ == "__main__":
    main()
