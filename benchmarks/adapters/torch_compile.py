"""PyTorch with ``torch.compile`` around the loss."""

import torch

from adapters import torch_eager
from adapters.torch_eager import version  # noqa: F401

NAME = "torch.compile"


def build(d):
    return torch_eager.build(d, wrap=torch.compile)
