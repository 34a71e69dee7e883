"""Schedules as cases (labs/scheduling.h), said in words."""


def request(prompt, new, priority="normal"):
    """Of a prompt of so many tokens."""
    return {"prompt": "abcdefghijklmnopqrstuvwxyz"[:prompt], "new": new, "priority": priority}


def describe(case):
    settings = [f"{name} {value}" for name, value in case.items() if name != "steps"]
    lines, seq = ["  " + ", ".join(settings)], 0
    for at, step in enumerate(case["steps"]):
        events = []
        for each in step.get("submit", []):
            seq += 1
            level = "" if each.get("priority", "normal") == "normal" else f", {each['priority']} priority"
            events.append(f"{seq} comes (prompt of {len(each['prompt'])}, {each['new']} new{level})")
        events += [f"{gone} is cancelled" for gone in step.get("cancel", [])]
        if step.get("drafts"):
            events.append(f"{step['drafts']} drafts each, all kept")
        if events:
            lines.append(f"  before step {at}: " + "; ".join(events))
    return lines
