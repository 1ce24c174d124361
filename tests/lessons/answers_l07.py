"""Right answers to the exercises of L07, made in another way than the lesson's."""

RIGHT = {
    "L07.ex1": """
def sgd_updates(loss, weights, rate, keep):
    updates = {rate: rate - (1 - keep) * rate}
    for w in weights:
        updates[w] = w - tl.grad(loss, w) * rate
    return updates
""",
    "L07.ex2": """
def momentum_updates(loss, weights, rate, keep):
    updates = {}
    for w in weights:
        push = tl.shared(0 * w.get_value(), name="push")
        updates[push] = keep * push + tl.grad(loss, w)
        updates[w] = w - rate * updates[push]
    return updates
""",
    "L07.ex3": """
def make_trainer(score, loss_of, start):
    weights = {name: tl.tensor(value, requires_grad=True, name=name) for name, value in start.items()}
    pushes = {name: 0 * value for name, value in start.items()}

    def step(x, y):
        loss = loss_of(x, y, weights)
        loss.backward()
        with tl.no_grad():
            for name, w in weights.items():
                pushes[name] = 0.9 * pushes[name] + w.grad.numpy()
                w -= 0.2 * pushes[name]
                w.grad = None
        return loss.item()

    return step, lambda x: score(x, weights)
""",
    "L07.ex4": """
class make_optimizer:
    def __init__(self, weights, rate, keep):
        self.weights, self.rate, self.keep = weights, rate, keep
        self.pushes = {}

    def __call__(self):
        for w in self.weights:
            push = self.keep * self.pushes.get(id(w), 0.0) + w.grad.detach()
            self.pushes[id(w)] = push
            with tl.no_grad():
                w -= self.rate * push
                w.grad = None
""",
    "L07.ex5": 'letter = sorted("dcba")[-1]',
}
