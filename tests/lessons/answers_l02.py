"""Other right answers to the exercises of L02."""

RIGHT = {
    "L02.ex1": """
def mul_vjp(cotangent, left, right):
    return [np.multiply(right, cotangent), np.multiply(left, cotangent)]
""",
    "L02.ex2": """
def add_vjp(g, x, y):
    found = []
    for like in (x, y):
        part = g
        while part.ndim > like.ndim:
            part = part.sum(axis=0)
        for axis, size in enumerate(like.shape):
            if size < part.shape[axis]:
                part = part.sum(axis=axis, keepdims=True)
        found.append(part)
    return found
""",
    "L02.ex3": """
def backward(result, pull):
    order = tl.toposort([result])
    users = {}
    for node in order:
        for place, used in enumerate(node.inputs):
            users.setdefault(used, []).append((node, place))
    sent = {}
    def arriving(variable):
        return float(variable is result) + sum(sent[node][place] for node, place in users.get(variable, ()))
    for node in order[::-1]:
        sent[node] = pull(node, arriving(node.outputs[0]))
    return {leaf: arriving(leaf) for leaf in tl.leaves_of([result])}
""",
    "L02.ex4": """
def central_difference(f, x, eps):
    found = []
    for i, value in enumerate(x):
        ends = []
        for moved in (value + eps, value - eps):
            copy = np.array(x)
            copy[i] = moved
            ends.append(f(copy))
        found.append((ends[0] - ends[1]) / eps / 2)
    return found
""",
    "L02.ex5": 'prediction = "ab"[-1]',
}
