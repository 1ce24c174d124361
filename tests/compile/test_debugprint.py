"""The text of a graph, written out by hand."""

import io
import textwrap

import tutorlib as tl


def text(expected):
    return textwrap.dedent(expected).strip("\n")


def test_a_shared_part_is_written_once_and_referred_to():
    x = tl.scalar("x")
    y = x * x
    assert tl.debugprint(tl.exp(y) + y) == text(
        """
        add [A] float64 ()
         ├─ exp [B] float64 ()
         │   └─ mul [C] float64 ()
         │       ├─ x (input) float64 ()
         │       └─ x (input) float64 ()
         └─ mul [C] see above
        """
    )


def test_every_kind_of_leaf_says_what_it_is():
    v, s = tl.vector("v", dtype="float32"), tl.shared([1.0, 2.0], name="s")
    assert tl.debugprint(tl.where(v > 0, s, 2.0)) == text(
        """
        where [A] float64 (2,)
         ├─ gt [B] bool (?,)
         │   ├─ v (input) float32 (?,)
         │   └─ 0 (constant) int64 ()
         ├─ s (shared) float64 (2,)
         └─ 2.0 (constant) float64 ()
        """
    )


def test_a_recorded_graph_is_written_the_same_way():
    x = tl.tensor([1.0, 2.0], requires_grad=True, name="x")
    assert tl.debugprint((x * 3.0).sum()) == text(
        """
        sum [A] float64 ()
         └─ mul [B] float64 (2,)
             ├─ x (tensor) float64 (2,)
             └─ 3.0 (constant)
        """
    )


def test_a_named_result_shows_its_name():
    x = tl.scalar("x")
    y = x + 1
    y.name = "y"
    assert tl.debugprint(y).splitlines()[0] == "add [A] y float64 ()"


def test_a_backward_node_is_marked():
    x = tl.scalar("x")
    assert "∂" in tl.debugprint(tl.grad(tl.exp(x), x)).splitlines()[0]
    assert "∂" not in tl.debugprint(tl.exp(x))


def test_a_function_shows_outputs_and_updates():
    s, x = tl.shared(1.0, name="s"), tl.scalar("x")
    f = tl.function([x], s, updates=[(s, s + x)])
    assert (
        tl.debugprint(f)
        == f.debugprint()
        == text(
            """
        output:
        s (shared) float64 ()
        update s ←
        add [A] float64 ()
         ├─ s (shared) float64 ()
         └─ x (input) float64 ()
        """
        )
    )


def test_several_graphs_share_their_labels():
    x = tl.scalar("x")
    y = x * 2
    assert tl.debugprint([y, y + 1]).splitlines()[-2:] == [" ├─ mul [A] see above", " └─ 1 (constant) int64 ()"]


def test_labels_go_on_after_z():
    x = tl.scalar("x")
    for _ in range(28):
        x = -x
    assert [line.split("[")[1].split("]")[0] for line in tl.debugprint(x).splitlines()[25:28]] == ["Z", "AA", "AB"]


def test_a_long_graph_is_cut_and_says_so():
    x = tl.scalar("x")
    for _ in range(20):
        x = -x
    lines = tl.debugprint(x, limit=5).splitlines()
    assert len(lines) == 6
    assert lines[-1].endswith("more lines")


def test_a_file_gets_the_text_too():
    file = io.StringIO()
    returned = tl.debugprint(tl.scalar("x") + 1, file=file)
    assert file.getvalue() == returned + "\n"


def test_a_leaf_alone():
    assert tl.debugprint(tl.scalar("x")) == "x (input) float64 ()"
