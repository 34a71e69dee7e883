"""Answers of which some lines count work, as "sectors read: 128": such a number may be smaller than
expected. What cases.py has as difference(task, got, expected)."""


def at_most(*counted):
    """Of lines that begin with one of `counted` the number is at most the expected one; other lines are equal."""

    def difference(_task, got, expected):
        if len(got) != len(expected):
            return "there are other lines"
        for line, right in zip(got, expected):
            name, _, most = right.partition(": ")
            if right.startswith(counted) and line.startswith(f"{name}: "):
                if int(line.partition(": ")[2]) > int(most):
                    return f"at most: {right}"
            elif line != right:
                return f"not {right}"
        return None

    return difference
