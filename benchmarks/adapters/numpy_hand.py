"""NumPy by hand: forward and backward written out, clear code, nothing allocated ahead. All ratios are to this."""

import numpy as np
from workloads import GELU_CUBIC, GELU_SCALE

NAME = "NumPy by hand"


def version():
    return np.__version__


def softmax_cross_entropy(z, y):
    rows = np.arange(len(y))
    z = z - z.max(axis=1, keepdims=True)
    e = np.exp(z)
    total = e.sum(axis=1, keepdims=True)
    loss = (np.log(total[:, 0]) - z[rows, y]).mean()
    d = e / total
    d[rows, y] -= 1
    return loss, d / np.float32(len(y))


def _chain(d, P, lr):
    x = P["x"]

    def step():
        h, kept = x, []
        for _ in range(d.rounds):
            t = np.tanh(h * d.w + d.b)
            kept.append(t)
            h = t - d.c
        g = np.ones_like(h)
        for t in reversed(kept):
            g = g * (1 - t * t) * d.w
        x[...] -= lr * g
        return h.sum()

    return step


def _hinge(d, P, lr):
    W1, b1, W2, b2, W3, b3 = (P[k] for k in ("W1", "b1", "W2", "b2", "W3", "b3"))
    n, l2 = np.float32(1 / len(d.X)), np.float32(d.l2)

    def step():
        z1 = d.X @ W1 + b1
        h1 = np.maximum(z1, 0)
        z2 = h1 @ W2 + b2
        h2 = np.maximum(z2, 0)
        margin = 1 - d.y * (h2 @ W3 + b3)
        loss = np.maximum(margin, 0).sum() * n + l2 * ((W1 * W1).sum() + (W2 * W2).sum() + (W3 * W3).sum())
        ds = (margin > 0) * (-n * d.y)
        dz2 = (ds @ W3.T) * (z2 > 0)
        dz1 = (dz2 @ W2.T) * (z1 > 0)
        grads = [
            d.X.T @ dz1 + 2 * l2 * W1,
            dz1.sum(0),
            h1.T @ dz2 + 2 * l2 * W2,
            dz2.sum(0),
            h2.T @ ds + 2 * l2 * W3,
            ds.sum(0),
        ]
        for p, g in zip((W1, b1, W2, b2, W3, b3), grads, strict=True):
            p -= lr * g
        return loss

    return step


def _network(d, P, lr):
    def step():
        h, kept, before = d.X, [d.X], []
        for i in range(1, d.layers + 1):
            z = h @ P[f"W{i}"] + P[f"b{i}"]
            before.append(z)
            h = np.maximum(z, 0) if i < d.layers else z
            kept.append(h)
        loss, dz = softmax_cross_entropy(h, d.y)
        for i in range(d.layers, 0, -1):
            gW, gb = kept[i - 1].T @ dz, dz.sum(0)
            if i > 1:
                dz = (dz @ P[f"W{i}"].T) * (before[i - 2] > 0)
            P[f"W{i}"] -= lr * gW
            P[f"b{i}"] -= lr * gb
        return loss

    return step


def _lstm(d, P, lr):
    Wx, Wh, b, Wo, bo = (P[k] for k in ("Wx", "Wh", "b", "Wo", "bo"))
    T, B, H = d.T, d.B, d.H
    rows = d.X.reshape(T * B, -1)
    sigmoid = lambda a: 1 / (1 + np.exp(-a))

    def step():
        inputs = (rows @ Wx + b).reshape(T, B, 4 * H)
        h = c = np.zeros((B, H), np.float32)
        kept = []
        for t in range(T):
            a = inputs[t] + h @ Wh
            i, f, o = sigmoid(a[:, :H]), sigmoid(a[:, H : 2 * H]), sigmoid(a[:, 3 * H :])
            g = np.tanh(a[:, 2 * H : 3 * H])
            new = f * c + i * g
            tc = np.tanh(new)
            kept.append((h, c, i, f, g, o, tc))
            h, c = o * tc, new
        error = h @ Wo + bo - d.y
        loss = (error * error).mean()
        de = error * np.float32(2 / error.size)
        gWo, gbo = h.T @ de, de.sum(0)
        dh, dc = de @ Wo.T, np.zeros((B, H), np.float32)
        da, gWh = np.empty((T, B, 4 * H), np.float32), np.zeros_like(Wh)
        for t in range(T - 1, -1, -1):
            h, c, i, f, g, o, tc = kept[t]
            dc = dc + dh * o * (1 - tc * tc)
            da[t, :, :H] = dc * g * i * (1 - i)
            da[t, :, H : 2 * H] = dc * c * f * (1 - f)
            da[t, :, 2 * H : 3 * H] = dc * i * (1 - g * g)
            da[t, :, 3 * H :] = dh * tc * o * (1 - o)
            gWh += h.T @ da[t]
            dh, dc = da[t] @ Wh.T, dc * f
        flat = da.reshape(T * B, 4 * H)
        for p, g in ((Wx, rows.T @ flat), (Wh, gWh), (b, flat.sum(0)), (Wo, gWo), (bo, gbo)):
            p -= lr * g
        return loss

    return step


def _windows(x):
    """Images (B, C, H, W) as rows of 3x3 windows."""
    v = np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(2, 3))
    B, C, H, W = v.shape[:4]
    return v.transpose(0, 2, 3, 1, 4, 5).reshape(B * H * W, C * 9)


def _pool(z, n):
    B, C = z.shape[0], z.shape[-1]
    w = z[:, : 2 * n, : 2 * n].reshape(B, n, 2, n, 2, C).transpose(0, 1, 3, 5, 2, 4).reshape(B, n, n, C, 4)
    which = w.argmax(-1)[..., None]
    return np.maximum(np.take_along_axis(w, which, -1)[..., 0], 0), which


def _unpool(g, p, which, full):
    B, n, _, C = g.shape
    w = np.zeros((B, n, n, C, 4), np.float32)
    np.put_along_axis(w, which, (g * (p > 0))[..., None], -1)
    out = np.zeros((B, full, full, C), np.float32)
    w = w.reshape(B, n, n, C, 2, 2).transpose(0, 1, 4, 2, 5, 3)
    out[:, : 2 * n, : 2 * n] = w.reshape(B, 2 * n, 2 * n, C)
    return out


def _convolutional(d, P, lr):
    K1, c1, K2, c2, W, b = (P[k] for k in ("K1", "c1", "K2", "c2", "W", "b"))
    B = len(d.X)

    def step():
        v1 = _windows(d.X)
        p1, k1 = _pool((v1 @ K1.reshape(8, 9).T + c1).reshape(B, 26, 26, 8), 13)
        v2 = _windows(p1.transpose(0, 3, 1, 2))
        p2, k2 = _pool((v2 @ K2.reshape(16, 72).T + c2).reshape(B, 11, 11, 16), 5)
        f = p2.transpose(0, 3, 1, 2).reshape(B, 400)
        loss, dz = softmax_cross_entropy(f @ W + b, d.y)
        gW, gb = f.T @ dz, dz.sum(0)
        df = (dz @ W.T).reshape(B, 16, 5, 5).transpose(0, 2, 3, 1)
        dz2 = _unpool(df, p2, k2, 11).reshape(-1, 16)
        windows = (dz2 @ K2.reshape(16, 72)).reshape(B, 11, 11, 8, 3, 3)
        dp1 = np.zeros((B, 13, 13, 8), np.float32)
        for i in range(3):
            for j in range(3):
                dp1[:, i : i + 11, j : j + 11] += windows[..., i, j]
        dz1 = _unpool(dp1, p1, k1, 26).reshape(-1, 8)
        grads = [(dz1.T @ v1).reshape(K1.shape), dz1.sum(0), (dz2.T @ v2).reshape(K2.shape), dz2.sum(0), gW, gb]
        for p, g in zip((K1, c1, K2, c2, W, b), grads, strict=True):
            p -= lr * g
        return loss

    return step


def _elementwise(d, P, lr):
    x = P["x"]
    A, C, n = np.float32(GELU_CUBIC), np.float32(GELU_SCALE), np.float32(1 / x.size)

    def step():
        x2 = x * x
        t = np.tanh(C * (x + A * (x2 * x)))
        u = 0.5 * x * (1 + t)
        v = np.exp(-u * u)
        loss = np.log(1 + v).mean()
        gu = n / (1 + v) * v * (-2 * u)
        gx = gu * (0.5 * (1 + t) + 0.5 * x * ((1 - t * t) * C * (1 + 3 * A * x2)))
        x[...] -= lr * gx
        return loss

    return step


def _descent(d, P, lr):
    w = P["w"]

    def step():
        w[...] -= lr * d.g
        return 0.0

    return step


_STEPS = {
    "W1": _chain,
    "W2": _hinge,
    "W3": _network,
    "W4": _network,
    "W5": _lstm,
    "W6": _convolutional,
    "W7": _elementwise,
    "W10": _descent,
}


def build(d):
    P = {k: v.copy() for k, v in d.params.items()}
    return _STEPS[d.name](d, P, np.float32(d.lr)), lambda: P
