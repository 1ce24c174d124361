"""W5 with PyTorch's own layer, ``torch.nn.LSTM``, eager; its second bias is left at zero and not trained."""

import torch
import torch.nn.functional as F

from adapters.torch_eager import version  # noqa: F401

NAME = "PyTorch nn.LSTM"


def build(d):
    if d.name != "W5":
        return None
    layer = torch.nn.LSTM(d.X.shape[2], d.H)
    with torch.no_grad():
        layer.weight_ih_l0.copy_(torch.tensor(d.params["Wx"].T))
        layer.weight_hh_l0.copy_(torch.tensor(d.params["Wh"].T))
        layer.bias_ih_l0.copy_(torch.tensor(d.params["b"]))
        layer.bias_hh_l0.zero_()
    layer.bias_hh_l0.requires_grad_(False)
    Wo, bo = (torch.tensor(d.params[k], requires_grad=True) for k in ("Wo", "bo"))
    X, y = torch.tensor(d.X), torch.tensor(d.y)
    trained = {"Wx": layer.weight_ih_l0, "Wh": layer.weight_hh_l0, "b": layer.bias_ih_l0, "Wo": Wo, "bo": bo}

    def step():
        _, (h, _) = layer(X)
        loss = F.mse_loss(torch.addmm(bo, h[0], Wo), y)
        loss.backward()
        with torch.no_grad():
            for p in trained.values():
                p.sub_(p.grad, alpha=d.lr)
                p.grad = None
        return loss.item()

    return step, lambda: {k: p.detach().numpy() for k, p in trained.items()}
