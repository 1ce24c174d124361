"""Wrong answers to the exercises of L06, each below the hint that it must get."""

from tutorlib.lessons.exercise import cases

CHOOSE = cases("""
#: decides_while_building
def choose(x, positive, negative):
    if x > 0:
        return positive(x)
    return negative(x)
#: decides_while_building
def choose(x, positive, negative):
    return positive(x) if bool(x > 0) else negative(x)
#: computes_both
def choose(x, positive, negative):
    return tl.where(x > 0, positive(x), negative(x))
#: computes_both
def choose(x, positive, negative):
    yes = tl.cast(x > 0, "float64")
    return yes * positive(x) + (1 - yes) * negative(x)
#: computes_both_dynamic
def choose(x, positive, negative):
    if isinstance(x, tl.Symbol):
        return tl.ifelse(x > 0, lambda: positive(x), lambda: negative(x))
    return tl.where(x > 0, positive(x), negative(x))
#: computes_both_dynamic
def choose(x, positive, negative):
    return tl.ifelse(x > 0, positive(x), negative(x))
#: swapped
def choose(x, positive, negative):
    return tl.ifelse(x > 0, lambda: negative(x), lambda: positive(x))
#: wrong_value
def choose(x, positive, negative):
    return tl.ifelse(x > 0, lambda: positive(x), lambda: positive(x))
#: wrong_value
def choose(x, positive, negative):
    return x * 0 + 6.0
#: not_a_symbol
def choose(x, positive, negative):
    return 6.0
#: returned_none
def choose(x, positive, negative):
    tl.ifelse(x > 0, lambda: positive(x), lambda: negative(x))
""")

HORNER = cases("""
#: loops_in_python
def horner(coefficients, x):
    total = 0.0
    for coefficient in coefficients:
        total = total * x + coefficient
    return total
#: raised
def horner(coefficients, x):
    total = 0.0
    for i in range(coefficients.shape[0]):
        total = total * x + coefficients[i]
    return total
#: returned_pair
def horner(coefficients, x):
    return tl.scan(lambda total, c: (total * x + c, None), coefficients, 0.0)
#: all_rounds
def horner(coefficients, x):
    def step(total, c):
        total = total * x + c
        return total, total
    return tl.scan(step, coefficients, 0.0)[1]
#: lowest_first
def horner(coefficients, x):
    return tl.scan(lambda total, c: (total * x + c, None), coefficients, 0.0, reverse=True)[0]
#: multiplies_last
def horner(coefficients, x):
    return tl.scan(lambda total, c: ((total + c) * x, None), coefficients, 0.0)[0]
#: starts_at_one
def horner(coefficients, x):
    return tl.scan(lambda total, c: (total * x + c, None), coefficients, 1.0)[0]
#: wrong_value
def horner(coefficients, x):
    return tl.scan(lambda total, c: (total + c, None), coefficients, 0.0)[0]
#: wrong_value
def horner(coefficients, x):
    return x * 0 + 13.0
#: no_loop
def horner(coefficients, x):
    powers = tl.cumprod(tl.ones_like(coefficients) * x) / x
    return (tl.flip(coefficients, 0) * powers).sum()
#: only_static
def horner(coefficients, x):
    if not isinstance(x, tl.Symbol):
        return x
    return tl.scan(lambda total, c: (total * x + c, None), coefficients, 0.0)[0]
#: returned_none
def horner(coefficients, x):
    tl.scan(lambda total, c: (total * x + c, None), coefficients, 0.0)
#: not_a_symbol
def horner(coefficients, x):
    return 13.0
#: only_a_leaf
def horner(coefficients, x):
    return x
""")

TRACES = cases("""
#: one_for_all
prediction = "a"
#: one_each_call
prediction = "c"
#: when_defined
prediction = "d"
#: unknown_option
prediction = 2
""")

RECORD = cases("""
#: every_call
def record(program, inputs):
    events = []
    for values in inputs:
        events.append("python")
        program(values)
        events.append("call")
    return events
#: every_call
def record(program, inputs):
    events, traced = [], tl.trace(program)
    def noted(x):
        events.append("python")
        return traced(x)
    for values in inputs:
        noted(values)
        events.append("call")
    return events
#: every_call
def record(program, inputs):
    events = []
    for values in inputs:
        def noted(x):
            events.append("python")
            return program(x)
        tl.trace(noted)(values)
        events.append("call")
    return events
#: forgets_shapes
def record(program, inputs):
    tl.trace(program)(inputs[0])
    return ["python"] + ["call" for _ in inputs]
#: no_calls
def record(program, inputs):
    events = []
    def noted(x):
        events.append("python")
        return program(x)
    traced = tl.trace(noted)
    for values in inputs:
        traced(values)
    return events
#: no_python
def record(program, inputs):
    events, traced = [], tl.trace(program)
    for values in inputs:
        traced(values)
        events.append("call")
    return events
#: call_first
def record(program, inputs):
    events = []
    def noted(x):
        events.append("python")
        return program(x)
    traced = tl.trace(noted)
    for values in inputs:
        events.append("call")
        traced(values)
    return events
#: nothing_noted
def record(program, inputs):
    events = []
    def noted(x):
        events.append("python")
        return program(x)
    tl.trace(noted)
    return events
#: not_observed
def record(program, inputs):
    events, seen = [], set()
    for values in inputs:
        if values.shape not in seen:
            events.append("python")
        seen.add(values.shape)
        events.append("call")
    return events
#: wrong_events
def record(program, inputs):
    return ["python", "call", "call"]
#: not_a_list
def record(program, inputs):
    return "python call call"
#: returned_none
def record(program, inputs):
    traced = tl.trace(program)
    for values in inputs:
        traced(values)
""")

BY_HAND = cases("""
#: no_tanh
def by_hand(x):
    return (x * x + 0.5) * x + 0.5
#: one_pass
def by_hand(x):
    return tl.tanh(x * x + 0.5)
#: all_products
def by_hand(x):
    return tl.tanh(x * x * x * x * x)
#: all_sums
def by_hand(x):
    return tl.tanh(x + 0.5 + 0.5 + 0.5 + 0.5)
#: wrong_order
def by_hand(x):
    return tl.tanh((x + 0.5) * (x + 0.5) * x)
#: wrong_order
def by_hand(x):
    return tl.tanh(x * x * x + 0.5)
#: other_operations
def by_hand(x):
    return tl.tanh(x ** 3 + 0.5 * x + 0.5)
#: other_operations
def by_hand(x):
    return tl.tanh((tl.square(x) + 0.5) * x + 0.5)
#: keeps_control_flow
def by_hand(x):
    def step(total, k):
        return tl.where(k % 2 == 0, total * x, total + 0.5), None
    return tl.tanh(tl.scan(step, tl.arange(4), x)[0])
#: wrong_value
def by_hand(x):
    return tl.tanh((x * x + 0.25) * x + 0.25)
#: not_a_symbol
def by_hand(x):
    return 0.75
#: returned_none
def by_hand(x):
    tl.tanh((x * x + 0.5) * x + 0.5)
#: only_a_leaf
def by_hand(x):
    return x
""")
