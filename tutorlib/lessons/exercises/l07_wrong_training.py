"""Wrong answers to the exercises of L07 about training loops, each below the hint that it must get."""

from tutorlib.lessons.exercise import cases

TRAINER = cases("""
#: straight
def make_trainer(score, loss_of, start):
    x, y = tl.matrix("x"), tl.matrix("y")
    weights = {name: tl.shared(value, name=name) for name, value in start.items()}
    cost = loss_of(x, y, weights)
    slopes = tl.grad(cost, list(weights.values()))
    updates = [(w, w - 0.1 * g) for w, g in zip(weights.values(), slopes)]
    return tl.function([x, y], cost, updates=updates), tl.function([x], score(x, weights))
#: all_alike
def make_trainer(score, loss_of, start):
    start = {name: np.zeros(value.shape) for name, value in start.items()}
    x, y = tl.matrix("x"), tl.matrix("y")
    weights = {name: tl.shared(value, name=name) for name, value in start.items()}
    cost = loss_of(x, y, weights)
    slopes = tl.grad(cost, list(weights.values()))
    updates = [(w, w - 1.0 * g) for w, g in zip(weights.values(), slopes)]
    return tl.function([x, y], cost, updates=updates), tl.function([x], score(x, weights))
#: upside_down
def make_trainer(score, loss_of, start):
    x, y = tl.matrix("x"), tl.matrix("y")
    weights = {name: tl.shared(value, name=name) for name, value in start.items()}
    cost = loss_of(x, y, weights)
    slopes = tl.grad(cost, list(weights.values()))
    updates = [(w, w - 1.0 * g) for w, g in zip(weights.values(), slopes)]
    return tl.function([x, y], cost, updates=updates), tl.function([x], -score(x, weights))
#: probabilities
def make_trainer(score, loss_of, start):
    x, y = tl.matrix("x"), tl.matrix("y")
    weights = {name: tl.shared(value, name=name) for name, value in start.items()}
    cost = loss_of(x, y, weights)
    slopes = tl.grad(cost, list(weights.values()))
    updates = [(w, w - 1.0 * g) for w, g in zip(weights.values(), slopes)]
    return tl.function([x, y], cost, updates=updates), tl.function([x], tl.sigmoid(score(x, weights)))
#: wrong_shape
def make_trainer(score, loss_of, start):
    x, y = tl.matrix("x"), tl.matrix("y")
    weights = {name: tl.shared(value, name=name) for name, value in start.items()}
    cost = loss_of(x, y, weights)
    slopes = tl.grad(cost, list(weights.values()))
    updates = [(w, w - 1.0 * g) for w, g in zip(weights.values(), slopes)]
    return tl.function([x, y], cost, updates=updates), tl.function([x], score(x, weights).sum(axis=1))
#: diverged
def make_trainer(score, loss_of, start):
    x, y = tl.matrix("x"), tl.matrix("y")
    weights = {name: tl.shared(value, name=name) for name, value in start.items()}
    cost = loss_of(x, y, weights)
    slopes = tl.grad(cost, list(weights.values()))
    updates = [(w, w + np.inf * g) for w, g in zip(weights.values(), slopes)]
    return tl.function([x, y], cost, updates=updates), tl.function([x], score(x, weights))
#: too_few
def make_trainer(score, loss_of, start):
    x, y = tl.matrix("x"), tl.matrix("y")
    weights = {name: tl.shared(value, name=name) for name, value in start.items()}
    cost = loss_of(x, y, weights)
    slopes = tl.grad(cost, list(weights.values()))
    updates = [(w, w - 0.001 * g) for w, g in zip(weights.values(), slopes)]
    return tl.function([x, y], cost, updates=updates), tl.function([x], score(x, weights))
#: untouched
def make_trainer(score, loss_of, start):
    x, y = tl.matrix("x"), tl.matrix("y")
    weights = {name: tl.shared(value, name=name) for name, value in start.items()}
    return tl.function([x, y], loss_of(x, y, weights)), tl.function([x], score(x, weights))
#: untouched
def make_trainer(score, loss_of, start):
    return (lambda x, y: 0.0), (lambda x: (np.sin(1.6 * x[:, :1]) - x[:, 1:]) * 0 + x[:, :1] - x[:, 1:])
#: several_steps
def make_trainer(score, loss_of, start):
    x, y = tl.matrix("x"), tl.matrix("y")
    weights = {name: tl.shared(value, name=name) for name, value in start.items()}
    cost = loss_of(x, y, weights)
    slopes = tl.grad(cost, list(weights.values()))
    once = tl.function([x, y], cost, updates=[(w, w - 0.2 * g) for w, g in zip(weights.values(), slopes)])
    return (lambda x, y: [once(x, y) for _ in range(3)][0]), tl.function([x], score(x, weights))
#: not_a_pair
def make_trainer(score, loss_of, start):
    x, y = tl.matrix("x"), tl.matrix("y")
    weights = {name: tl.shared(value, name=name) for name, value in start.items()}
    return tl.function([x, y], loss_of(x, y, weights))
#: call_returns_none
def make_trainer(score, loss_of, start):
    return (lambda x, y: 0.0), (lambda x: None)
#: returned_none
def make_trainer(score, loss_of, start):
    {name: tl.shared(value, name=name) for name, value in start.items()}
#: raised
def make_trainer(score, loss_of, start):
    weights = {name: tl.tensor(value, requires_grad=True) for name, value in start.items()}
    def step(x, y):
        loss = loss_of(x, y, weights)
        loss.backward()
        for w in weights.values():
            w -= 1.0 * w.grad
        return loss.item()
    return step, lambda x: score(x, weights)
#: not_a_function
make_trainer = 0.95
""")

OPTIMIZER = cases("""
#: grad_left
def make_optimizer(weights, rate, keep):
    velocities = [tl.tensor(np.zeros(w.shape)) for w in weights]
    def step():
        with tl.no_grad():
            for v, w in zip(velocities, weights):
                v[...] = keep * v - rate * w.grad
                w += v
    return step
#: did_not_move
def make_optimizer(weights, rate, keep):
    velocities = [tl.tensor(np.zeros(w.shape)) for w in weights]
    def step():
        with tl.no_grad():
            for v, w in zip(velocities, weights):
                v[...] = keep * v - rate * w.grad
                w = w + v
            for w in weights:
                w.grad = None
    return step
#: old_velocity
def make_optimizer(weights, rate, keep):
    velocities = [tl.tensor(np.zeros(w.shape)) for w in weights]
    def step():
        with tl.no_grad():
            for v, w in zip(velocities, weights):
                w += v
                v[...] = keep * v - rate * w.grad
                w.grad = None
    return step
#: forgets
def make_optimizer(weights, rate, keep):
    velocities = [tl.tensor(np.zeros(w.shape)) for w in weights]
    def step():
        with tl.no_grad():
            for v, w in zip(velocities, weights):
                v = keep * v - rate * w.grad
                w += v
                w.grad = None
    return step
#: forgets
def make_optimizer(weights, rate, keep):
    def step():
        with tl.no_grad():
            for w in weights:
                w -= rate * w.grad
                w.grad = None
    return step
#: does_not_fade
def make_optimizer(weights, rate, keep):
    velocities = [tl.tensor(np.zeros(w.shape)) for w in weights]
    def step():
        with tl.no_grad():
            for v, w in zip(velocities, weights):
                v -= rate * w.grad
                w += v
                w.grad = None
    return step
#: climbs
def make_optimizer(weights, rate, keep):
    velocities = [tl.tensor(np.zeros(w.shape)) for w in weights]
    def step():
        with tl.no_grad():
            for v, w in zip(velocities, weights):
                v[...] = keep * v + rate * w.grad
                w += v
                w.grad = None
    return step
#: damped
def make_optimizer(weights, rate, keep):
    velocities = [tl.tensor(np.zeros(w.shape)) for w in weights]
    def step():
        with tl.no_grad():
            for v, w in zip(velocities, weights):
                v[...] = keep * v - (1 - keep) * rate * w.grad
                w += v
                w.grad = None
    return step
#: looks_ahead
def make_optimizer(weights, rate, keep):
    velocities = [tl.tensor(np.zeros(w.shape)) for w in weights]
    def step():
        with tl.no_grad():
            for v, w in zip(velocities, weights):
                v[...] = keep * v - rate * w.grad
                w += keep * v - rate * w.grad
                w.grad = None
    return step
#: imprecise
def make_optimizer(weights, rate, keep):
    velocities = [tl.tensor(np.zeros(w.shape)) for w in weights]
    def step():
        with tl.no_grad():
            for v, w in zip(velocities, weights):
                v[...] = np.float32(keep) * v - rate * w.grad
                w += v.numpy().astype("float32")
                w.grad = None
    return step
#: wrong_step
def make_optimizer(weights, rate, keep):
    velocities = [tl.tensor(np.zeros(w.shape)) for w in weights]
    def step():
        with tl.no_grad():
            for v, w in zip(velocities, weights):
                v[...] = keep * v - w.grad
                w += v
                w.grad = None
    return step
#: raised
def make_optimizer(weights, rate, keep):
    velocities = [tl.tensor(np.zeros(w.shape)) for w in weights]
    def step():
        if True:
            for v, w in zip(velocities, weights):
                v[...] = keep * v - rate * w.grad
                w += v
                w.grad = None
    return step
#: raised
def make_optimizer(weights, rate, keep):
    v = np.zeros(weights[0].shape)
    def step():
        nonlocal v
        with tl.no_grad():
            for w in weights:
                v = keep * v - rate * w.grad.numpy()
                w += v
                w.grad = None
    return step
#: not_callable
def make_optimizer(weights, rate, keep):
    return [w - rate * keep for w in weights]
#: returned_none
def make_optimizer(weights, rate, keep):
    for w in weights:
        w.grad = None
#: not_a_function
make_optimizer = 0.9
""")
