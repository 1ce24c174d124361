"""A SharedView shows the newest update until somebody scrubs back."""

import tutorlib as tl


def watched():
    count = tl.shared(0.0, name="count")
    return tl.SharedView(count), tl.function([], count, updates=[(count, count + 1)])


def test_the_newest_update_is_shown():
    view, increment = watched()
    for _ in range(3):
        increment()
    view.refresh()
    assert view.frame == 3


def test_a_view_scrubbed_back_stays_where_it_is():
    view, increment = watched()
    increment()
    increment()
    view.refresh()
    view.frame = 1
    increment()
    view.refresh()
    assert view.frame == 1
