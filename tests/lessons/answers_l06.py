"""Other right answers to the exercises of L06."""

RIGHT = {
    "L06.ex1": """
def choose(x, positive, negative):
    if isinstance(x, tl.Tensor):
        return positive(x) if x > 0 else negative(x)
    return tl.ifelse(x <= 0, lambda: negative(x), lambda: positive(x))
""",
    "L06.ex2": """
def horner(coefficients, x):
    first = coefficients[0]
    def step(total, c):
        total = x * total + c
        return total, total
    _, totals = tl.scan(step, coefficients, first * 0.0)
    return totals[-1]
""",
    "L06.ex3": 'prediction = "abcd"[1]',
    "L06.ex4": """
def record(program, inputs):
    events = []
    @tl.trace
    def noted(x):
        print("Python is here")
        result = program(x)
        events.append("python")
        return result
    for values in inputs:
        before = len(noted.traces)
        noted(values)
        events.append("call")
    return events
""",
    "L06.ex5": """
def by_hand(x):
    half = 0.5
    first = half + x * x
    return tl.tanh(half + x * first)
""",
}
