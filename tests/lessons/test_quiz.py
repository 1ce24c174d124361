"""A quiz asks about the values and gradients of any graph, and says why an answer is wrong without giving it away."""

import numpy as np
import pytest

import tutorlib as tl
from tutorlib.lessons import quiz as quiz_module


def used_twice():
    x, y = tl.scalar("x"), tl.scalar("y")
    t = x * y
    return tl.tanh(t) + t * x


def of_unknown_shape():
    m, v = tl.matrix("m"), tl.vector("v")
    return tl.log_softmax(m @ v)


def needs_positive_numbers():
    x = tl.scalar("x")
    return tl.sqrt(tl.log(x + 1))


def recorded():
    w = tl.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True, name="w")
    b = tl.tensor([1.0, -1.0], requires_grad=True, name="b")
    return (tl.relu(w @ b) * b).sum()


def with_shared():
    s = tl.shared([1.0, 2.0], name="s")
    return tl.mean(tl.square(s - tl.vector("v")))


GRAPHS = [used_twice, of_unknown_shape, needs_positive_numbers, recorded, with_shared]
each_graph = pytest.mark.parametrize("make", GRAPHS, ids=lambda make: make.__name__)


def every_question(q):
    """The questions of one round."""
    asked = [q.question]
    while q._waiting:
        asked.append(q.next().question)
    return asked


@each_graph
@pytest.mark.parametrize("seed", range(3))
def test_right_answers_are_those_of_the_engine(make, seed):
    q = tl.quiz(make(), seed=seed)
    graph = q._worked
    cost = graph.root if graph.root.ndim == 0 else graph.root.sum()
    asked = every_question(q)
    assert {question.kind for question in asked} == {"value", "gradient"}
    for question in asked:
        if question.kind == "value":
            expected = question.var.numpy()[question.index]
        else:
            expected = tl.grad(cost, question.var).numpy()[question.index]
        assert question.right == pytest.approx(float(expected))


def test_a_gradient_worked_out_by_hand():
    x, y = tl.scalar("x"), tl.scalar("y")
    q = tl.quiz(x * y + x, values={x: 2.0, y: 5.0})
    answers = {question.text: question.right for question in every_question(q)}
    assert answers["What is ∂t2/∂x?"] == 6.0
    assert answers["What is ∂t2/∂y?"] == 2.0
    assert answers["What is t1?"] == 10.0


def test_the_program_shows_the_graph_with_the_learners_names():
    x, y = tl.scalar("x"), tl.scalar("y")
    product = x * y
    q = tl.quiz(tl.exp(product) + 1, values={x: 1.0, y: 2.0})
    assert q.program == "x = 1\ny = 2\nproduct = x · y\nt1 = exp(product)\nt2 = t1 + 1"


def ask_about(q, text):
    while q.question.text != text:
        q.next()
    return q


@pytest.mark.parametrize(
    ("answer", "word"),
    [(-6, "sign"), (5, "one way"), (1, "one way"), (2, "variable's value"), (100, "Not yet."), ("six", "not a number")],
)
def test_a_wrong_answer_is_told_from_another(answer, word):
    x, y = tl.scalar("x"), tl.scalar("y")
    q = ask_about(tl.quiz(x * y + x, values={x: 2.0, y: 5.0}), "What is ∂t2/∂x?")
    reply = q.answer(answer)
    assert not reply and word in repr(reply)
    assert q.question.text == "What is ∂t2/∂x?"


@pytest.mark.parametrize("answer", [6, 6.0, "6", " 12/2 ", "6.002", np.float64(6)])
def test_a_right_answer_may_be_written_in_many_ways_and_brings_the_next_question(answer):
    x, y = tl.scalar("x"), tl.scalar("y")
    q = ask_about(tl.quiz(x * y + x, values={x: 2.0, y: 5.0}), "What is ∂t2/∂x?")
    reply = q.answer(answer)
    assert reply and repr(reply) == f"Right. Next: {q.question.text}"
    assert q.right == 1


@pytest.mark.parametrize("answer", [None, [], "", "1/0", "1e999999", object(), tl.scalar("z")])
def test_nonsense_is_no_answer_and_no_error(answer):
    assert not tl.quiz(used_twice()).answer(answer)


def test_hints_give_the_local_rule_first_with_names_and_then_with_numbers():
    x, y = tl.scalar("x"), tl.scalar("y")
    q = ask_about(tl.quiz(x * y + x, values={x: 2.0, y: 5.0}), "What is ∂t2/∂x?")
    assert repr(q.hint()) == "It is used 2 times, and the parts are added: ∂t2/∂x = ∂t2/∂t2 + ∂t2/∂t1 · y"
    assert repr(q.hint()) == "It is used 2 times, and the parts are added: ? = 1 + 1 · 5"


@each_graph
def test_no_hint_is_the_answer_alone(make):
    q = tl.quiz(make())
    for _ in every_question(tl.quiz(make())):
        for _ in range(3):
            rule = repr(q.hint()).rpartition(" = ")[2]
            assert quiz_module._number(rule) is None
        q.next()


def test_one_seed_asks_the_same_again_and_another_asks_otherwise():
    first, again, other = (repr(tl.quiz(recorded(), seed=seed)) for seed in (4, 4, 5))
    assert first == again != other


def test_reseeding_brings_other_numbers_and_the_old_seed_the_old_ones():
    q = tl.quiz(recorded(), seed=1)
    before = repr(q)
    assert repr(q.reseed()) != before
    assert repr(q.reseed(1)) == before


def test_a_quiz_does_not_end():
    q = tl.quiz(tl.scalar("x") * 2)
    for _ in range(20):
        assert q.answer(q.question.right)
    assert q.seed > 3 and q.right == 20


def test_the_graph_that_is_asked_about_stays_as_it_was():
    w = tl.tensor([1.0, 2.0], requires_grad=True, name="w")
    s = tl.shared(3.0, name="s")
    tl.quiz((w * w).sum())
    tl.quiz(s * tl.scalar("x"))
    assert w.grad is None and w.numpy().tolist() == [1.0, 2.0]
    assert s.get_value() == 3.0


@pytest.mark.parametrize("thing", [3.0, "x", None, tl.scalar("x"), tl.tensor(1.0)], ids=str)
def test_what_is_no_graph_is_refused_in_words(thing):
    with pytest.raises(TypeError, match="a quiz needs a graph"):
        tl.quiz(thing)


def test_a_graph_without_usable_numbers_says_how_to_give_some():
    x = tl.scalar("x")
    with pytest.raises(ValueError, match=r"values=\{x: 2\.0\}"):
        tl.quiz(tl.log(-1 - x * x))


def test_in_a_notebook_the_buttons_do_what_the_methods_do(monkeypatch):
    widgets = pytest.importorskip("ipywidgets")
    from tutorlib.viz import display

    monkeypatch.setattr(display, "is_live", lambda: True)
    q = tl.quiz(used_twice())
    program, question, row, said = q.show().children
    field, check, hint, other = row.children
    assert isinstance(field, widgets.Text)
    hint.click()
    assert "The rule is" in said.value or "It is used" in said.value
    field.value = "<b>1000000</b>"
    check.click()
    assert "not a number" in said.value
    asked = q.question
    field.value = str(q.question.right)
    check.click()
    assert "Right." in said.value and field.value == "" and q.question is not asked
    before = program.value
    other.click()
    assert program.value != before and q.question.text in question.value.replace("&#x27;", "'")


def test_without_widgets_the_quiz_is_shown_as_text():
    q = tl.quiz(used_twice())
    assert q.show() is q
    assert q.question.text in repr(q)
