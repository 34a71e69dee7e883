"""What a page leaves out of what it shows."""


def shows(shown, there, is_gap):
    """Whether the lines that a page shows are those that are there, but for what its gaps stand for:
    any number of lines each."""
    at, anywhere = 0, False
    for line in shown:
        if is_gap(line):
            anywhere = True
            continue
        while anywhere and at < len(there) and there[at] != line:
            at += 1
        if at == len(there) or there[at] != line:
            return False
        at, anywhere = at + 1, False
    return anywhere or at == len(there)
