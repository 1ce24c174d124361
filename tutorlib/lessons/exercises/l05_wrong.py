"""Wrong answers to the exercises of L05, each below the hint that it must get."""

from tutorlib.lessons.exercise import cases

SLOPE = cases("""
#: returns_value
def slope_past(start, limit):
    product = start
    while product <= limit:
        product = product * start
    return product
#: one_factor_only
def slope_past(start, limit):
    x = tl.tensor(start, requires_grad=True)
    product = x
    while product <= limit:
        product = product.item() * x
    product.backward()
    return x.grad.item()
#: one_factor_only
def slope_past(start, limit):
    x = tl.tensor(start, requires_grad=True)
    product = x
    while product <= limit:
        product = product * start
    product.backward()
    return x.grad
#: one_round_more
def slope_past(start, limit):
    x = tl.tensor(start, requires_grad=True)
    product = x
    while product <= limit:
        product = product * x
    (product * x).backward()
    return x.grad.item()
#: one_round_less
def slope_past(start, limit):
    x = tl.tensor(start, requires_grad=True)
    product = x
    while product * x <= limit:
        product = product * x
    product.backward()
    return x.grad.item()
#: always_as_many
def slope_past(start, limit):
    x = tl.tensor(start, requires_grad=True)
    (x * x * x).backward()
    return x.grad.item()
#: wrong_slope
def slope_past(start, limit):
    return 405.0
#: raised
def slope_past(start, limit):
    x = tl.tensor(start)
    product = x
    while product <= limit:
        product = product * x
    product.backward()
    return x.grad.item()
#: call_returns_none
def slope_past(start, limit):
    x = tl.tensor(start, requires_grad=True)
    (x * x).backward()
#: not_a_function
slope_past = 405.0
""")

COUNT = cases("""
#: counts_leaves
def count_nodes(program, value):
    return len(tl.toposort([program(tl.tensor(value, requires_grad=True))])) + 1
#: counts_unused
def count_nodes(program, value):
    class Counter(tl.Observer):
        n = 0
        def on_node(self, node):
            self.n += 1
    with tl.observe(Counter()) as counter:
        program(tl.tensor(value, requires_grad=True))
    return counter.n
#: counts_paths
def count_nodes(program, value):
    def count(tensor):
        if not isinstance(tensor, tl.Tensor) or tensor.node is None:
            return 0
        return 1 + sum(count(v) for v in tensor.inputs)
    return count(program(tl.tensor(value, requires_grad=True)))
#: nothing_recorded
def count_nodes(program, value):
    return len(tl.toposort([program(tl.tensor(value))]))
#: always_as_many
def count_nodes(program, value):
    return 7
#: wrong_count
def count_nodes(program, value):
    return int(value)
#: returned_none
def count_nodes(program, value):
    print(program(tl.tensor(value, requires_grad=True)))
#: not_a_function
count_nodes = 7
""")

LOSSES = cases("""
#: keeps_graphs
def losses_of(model, batches):
    losses = []
    for batch in batches:
        loss = model(batch)
        losses.append(loss)
        del loss
    return losses
#: frees_late
def losses_of(model, batches):
    losses = [model(batch) for batch in batches]
    return [loss.item() for loss in losses]
#: went_backward
def losses_of(model, batches):
    losses = []
    for batch in batches:
        loss = model(batch)
        loss.backward()
        losses.append(loss.item())
    return losses
#: only_one
def losses_of(model, batches):
    for batch in batches:
        loss = model(batch)
    return [loss.item()]
#: wrong_losses
def losses_of(model, batches):
    return [model(batches[0]).item() for batch in batches]
#: not_a_list
def losses_of(model, batches):
    return sum(model(batch).item() for batch in batches)
#: returned_none
def losses_of(model, batches):
    [model(batch).item() for batch in batches]
#: not_a_function
losses_of = [1.0, 2.0]
""")

EVENTS = cases("""
#: only_forward
def record_events(program, value):
    events = []
    class Recorder(tl.Observer):
        def on_node(self, node):
            events.append(("forward", node.op.name))
        def on_vjp(self, node, cotangent, grads):
            events.append(("backward", node.op.name))
    with tl.observe(Recorder()):
        result = program(tl.tensor(value, requires_grad=True))
    result.backward()
    return events
#: only_backward
def record_events(program, value):
    events = []
    class Recorder(tl.Observer):
        def on_vjp(self, node, cotangent, grads):
            events.append(("backward", node.op.name))
    with tl.observe(Recorder()):
        program(tl.tensor(value, requires_grad=True)).backward()
    return events
#: nothing_seen
def record_events(program, value):
    events = []
    class Recorder(tl.Observer):
        def on_node(self, node):
            events.append(("forward", node.op.name))
    Recorder()
    program(tl.tensor(value, requires_grad=True)).backward()
    return events
#: same_direction
def record_events(program, value):
    ahead, back = [], []
    class Recorder(tl.Observer):
        def on_node(self, node):
            ahead.append(("forward", node.op.name))
        def on_vjp(self, node, cotangent, grads):
            back.insert(0, ("backward", node.op.name))
    with tl.observe(Recorder()):
        program(tl.tensor(value, requires_grad=True)).backward()
    return ahead + back
#: from_the_graph
def record_events(program, value):
    names = [n.op.name for n in tl.toposort([program(tl.tensor(value, requires_grad=True))])]
    return [("forward", n) for n in names] + [("backward", n) for n in reversed(names)]
#: wrong_events
def record_events(program, value):
    return [("forward", "mul"), ("backward", "mul")]
#: not_a_list
def record_events(program, value):
    program(tl.tensor(value, requires_grad=True)).backward()
    return "forward mul backward mul"
#: returned_none
def record_events(program, value):
    program(tl.tensor(value, requires_grad=True)).backward()
#: not_a_function
record_events = [("forward", "mul"), ("backward", "mul")]
""")

LEFT_BEHIND = cases("""
#: says_loop_kept
choice = "a"
#: says_one_graph
choice = "c"
#: says_all_branches
choice = "d"
#: unknown_option
choice = "two"
""")
