"""Wrong answers to the exercises of L07 about update lists, each below the hint that it must get."""

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
