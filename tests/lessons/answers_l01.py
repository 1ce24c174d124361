"""Other right answers to the exercises of L01."""

RIGHT = {
    "L01.ex1": """
def build(x, t):
    power = tl.exp(t)
    second = 1 + power
    return second * (power + x)
""",
    "L01.ex2": 'prediction = "abcd"[1]',
    "L01.ex3": 'letter = "pcq"[1]',
    "L01.ex4": """
def evaluate(result, given, compute):
    known = dict(given)
    def value(v):
        if isinstance(v, tl.Constant):
            return v.value
        if v not in known:
            known[v] = compute(v.node, [value(used) for used in v.node.inputs])
        return known[v]
    return value(result)
""",
    "L01.ex5": """
def topological_order(result):
    users, waiting, found, todo = {}, {}, {result.node}, [result.node]
    while todo:
        node = todo.pop()
        below = {v.node for v in node.inputs} - {None}
        waiting[node] = len(below)
        for used in below:
            users.setdefault(used, []).append(node)
            if used not in found:
                found.add(used)
                todo.append(used)
    ready, order = [node for node, count in waiting.items() if not count], []
    for node in ready:
        order.append(node)
        for user in users.get(node, ()):
            waiting[user] -= 1
            if not waiting[user]:
                ready.append(user)
    return tuple(order)
""",
}
