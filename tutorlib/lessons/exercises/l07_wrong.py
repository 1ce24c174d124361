"""Wrong answers to the exercises of L07 that are written as functions, each below the hint that it must get."""

from tutorlib.lessons.exercise import cases

SGD = cases("""
#: rate_stays
def sgd_updates(loss, weights, rate, keep):
    return [(w, w - rate * g) for w, g in zip(weights, tl.grad(loss, weights))]
#: rate_frozen
def sgd_updates(loss, weights, rate, keep):
    now = float(rate.get_value())
    moved = [(w, w - now * g) for w, g in zip(weights, tl.grad(loss, weights))]
    return [*moved, (rate, keep * rate)]
#: rate_frozen
def sgd_updates(loss, weights, rate, keep):
    now = float(rate.get_value())
    moved = [(w, w - now * g) for w, g in zip(weights, tl.grad(loss, weights))]
    return [*moved, (rate, keep * now)]
#: fades_too_early
def sgd_updates(loss, weights, rate, keep):
    smaller = keep * rate
    moved = [(w, w - smaller * g) for w, g in zip(weights, tl.grad(loss, weights))]
    return [(rate, smaller), *moved]
#: climbs
def sgd_updates(loss, weights, rate, keep):
    moved = [(w, w + rate * g) for w, g in zip(weights, tl.grad(loss, weights))]
    return [*moved, (rate, keep * rate)]
#: only_one
def sgd_updates(loss, weights, rate, keep):
    for w, g in zip(weights, tl.grad(loss, weights)):
        return [(w, w - rate * g), (rate, keep * rate)]
#: nothing_stored
def sgd_updates(loss, weights, rate, keep):
    return [(rate, keep * rate)]
#: nothing_stored
def sgd_updates(loss, weights, rate, keep):
    return []
#: own_rate
def sgd_updates(loss, weights, rate, keep):
    mine = tl.shared(rate.get_value())
    moved = [(w, w - mine * g) for w, g in zip(weights, tl.grad(loss, weights))]
    return [*moved, (mine, keep * mine)]
#: wrong_step
def sgd_updates(loss, weights, rate, keep):
    moved = [(w, w - rate * g) for w, g in zip(weights, tl.grad(loss, weights))]
    return [*moved, (rate, rate - keep)]
#: changed_at_once
def sgd_updates(loss, weights, rate, keep):
    for w in weights:
        slope = tl.function([], tl.grad(loss, w))()
        w.set_value(w.get_value() - float(rate.get_value()) * slope)
    return []
#: changed_at_once
def sgd_updates(loss, weights, rate, keep):
    moved = [(w, w - rate * g) for w, g in zip(weights, tl.grad(loss, weights))]
    rate.set_value(keep * rate.get_value())
    return moved
#: wrong_step
def sgd_updates(loss, weights, rate, keep):
    moved = [(w, w - g) for w, g in zip(weights, tl.grad(loss, weights))]
    return [*moved, (rate, keep * rate)]
#: wrong_step
def sgd_updates(loss, weights, rate, keep):
    moved = [(w, -rate * g) for w, g in zip(weights, tl.grad(loss, weights))]
    return [*moved, (rate, keep * rate)]
#: raised
def sgd_updates(loss, weights, rate, keep):
    return [(w, w - rate * w.grad) for w in weights]
#: returned_none
def sgd_updates(loss, weights, rate, keep):
    [(w, w - rate * g) for w, g in zip(weights, tl.grad(loss, weights))]
#: not_a_function
sgd_updates = []
""")

MOMENTUM = cases("""
#: old_velocity
def momentum_updates(loss, weights, rate, keep):
    pairs = []
    for w, g in zip(weights, tl.grad(loss, weights)):
        v = tl.shared(np.zeros(w.get_value().shape))
        pairs += [(v, keep * v - rate * g), (w, w + v)]
    return pairs
#: forgets
def momentum_updates(loss, weights, rate, keep):
    pairs = []
    for w, g in zip(weights, tl.grad(loss, weights)):
        v = tl.shared(np.zeros(w.get_value().shape))
        pairs += [(w, w + keep * v - rate * g)]
    return pairs
#: forgets
def momentum_updates(loss, weights, rate, keep):
    pairs = []
    for w, g in zip(weights, tl.grad(loss, weights)):
        v = np.zeros(w.get_value().shape)
        v = keep * v - rate * g
        pairs += [(w, w + v)]
    return pairs
#: does_not_fade
def momentum_updates(loss, weights, rate, keep):
    pairs = []
    for w, g in zip(weights, tl.grad(loss, weights)):
        v = tl.shared(np.zeros(w.get_value().shape))
        new = v - rate * g
        pairs += [(v, new), (w, w + new)]
    return pairs
#: climbs
def momentum_updates(loss, weights, rate, keep):
    pairs = []
    for w, g in zip(weights, tl.grad(loss, weights)):
        v = tl.shared(np.zeros(w.get_value().shape))
        new = keep * v + rate * g
        pairs += [(v, new), (w, w + new)]
    return pairs
#: damped
def momentum_updates(loss, weights, rate, keep):
    pairs = []
    for w, g in zip(weights, tl.grad(loss, weights)):
        v = tl.shared(np.zeros(w.get_value().shape))
        new = keep * v - (1 - keep) * rate * g
        pairs += [(v, new), (w, w + new)]
    return pairs
#: looks_ahead
def momentum_updates(loss, weights, rate, keep):
    pairs = []
    for w, g in zip(weights, tl.grad(loss, weights)):
        v = tl.shared(np.zeros(w.get_value().shape))
        new = keep * v - rate * g
        pairs += [(v, new), (w, w + keep * new - rate * g)]
    return pairs
#: nothing_stored
def momentum_updates(loss, weights, rate, keep):
    pairs = []
    for w, g in zip(weights, tl.grad(loss, weights)):
        v = tl.shared(np.zeros(w.get_value().shape))
        pairs += [(v, keep * v - rate * g)]
    return pairs
#: only_one
def momentum_updates(loss, weights, rate, keep):
    w = weights[0]
    v = tl.shared(np.zeros(w.get_value().shape))
    new = keep * v - rate * tl.grad(loss, w)
    return [(v, new), (w, w + new)]
#: wrong_step
def momentum_updates(loss, weights, rate, keep):
    pairs = []
    for w, g in zip(weights, tl.grad(loss, weights)):
        v = tl.shared(np.ones(w.get_value().shape))
        new = keep * v - rate * g
        pairs += [(v, new), (w, w + new)]
    return pairs
#: raised
def momentum_updates(loss, weights, rate, keep):
    v, pairs = tl.shared(np.zeros(3)), []
    for w, g in zip(weights, tl.grad(loss, weights)):
        new = keep * v - rate * g
        pairs += [(v, new), (w, w + new)]
    return pairs
#: changed_at_once
def momentum_updates(loss, weights, rate, keep):
    for w in weights:
        w.set_value(w.get_value() - rate * tl.function([], tl.grad(loss, w))())
    return []
#: returned_none
def momentum_updates(loss, weights, rate, keep):
    tl.grad(loss, weights)
#: not_a_function
momentum_updates = [0.9]
""")

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
