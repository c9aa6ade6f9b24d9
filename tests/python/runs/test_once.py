"""A property that several threads ask for at the same time is computed once."""

import threading

from latticino.common.once import once

THREADS = 8


class Slow:
    """Threads ask for its value together. It takes 50 ms."""

    def __init__(self, fails=0):
        self.asked, self.computed, self.fails = threading.Barrier(THREADS), 0, fails

    @once
    def value(self):
        """What it is."""
        self.computed += 1
        threading.Event().wait(0.05)
        if self.computed <= self.fails:
            raise RuntimeError("not yet")
        return object()


def asked(slow):
    """What each thread got: the value, or its error."""
    found = []

    def ask():
        slow.asked.wait()
        try:
            found.append(slow.value)
        except RuntimeError as why:
            found.append(why)

    threads = [threading.Thread(target=ask) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def test_threads_get_one_value():
    slow = Slow()
    found = asked(slow)
    assert slow.computed == 1 and len(found) == THREADS and len(set(map(id, found))) == 1
    assert slow.value is found[0] and list(vars(slow)) == ["asked", "computed", "fails", "value"]
    assert Slow.value.__doc__ == "What it is."


def test_an_error_leaves_no_value():
    slow = Slow(fails=2)
    found = asked(slow)
    assert slow.computed == 3 and sum(isinstance(each, RuntimeError) for each in found) == 2
    assert len({id(each) for each in found if not isinstance(each, RuntimeError)}) == 1


def test_objects_have_values_of_their_own():
    first, second = Slow(), Slow()
    assert first.value is not second.value
