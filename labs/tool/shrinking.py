"""Makes a case small that shows a difference: parts of lists and texts are left out and numbers made
smaller as long as the difference stays. Greedy, within a number of questions; the order is fixed, so
the same case comes out every time. Numbers with a point are left alone: what must not become 0, so that
a difference stays one that teaches, is written with one."""

QUESTIONS = 1500


def smaller_texts(text):
    length = len(text)
    size = length // 2
    while size >= 1:
        for begin in range(0, length - size + 1, size):
            yield text[:begin] + text[begin + size :]
        size //= 2


def smaller(value):
    """Values like this one, the smallest first."""
    if isinstance(value, bool):
        if value:
            yield False
    elif isinstance(value, int):
        for less in dict.fromkeys([0, 1, value // 2, value - 1]):
            if 0 <= less < value:
                yield less
    elif isinstance(value, str):
        yield from smaller_texts(value)
    elif isinstance(value, list):
        yield from smaller_texts(value)
        for at, element in enumerate(value):
            for less in smaller(element):
                yield value[:at] + [less] + value[at + 1 :]
    elif isinstance(value, dict):
        for name, member in value.items():
            for less in smaller(member):
                yield {**value, name: less}


def smallest(difference, still_differs):
    """`still_differs` says of a case what differs there, or nothing."""
    questions = 0
    improved = True
    while improved:
        improved = False
        for case in smaller(difference.case):
            questions += 1
            if questions > QUESTIONS:
                return difference
            found = still_differs(case)
            if found is not None:
                difference, improved = found, True
                break
    return difference
