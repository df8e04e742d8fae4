"""What the reference says of the public names: which members each has, and how they are called."""

from __future__ import annotations

import re
from typing import NamedTuple

from .pages import DOCS, fences, prose

#: A heading that is nothing but a public name, in capitals or one of the functions.
FUNCTIONS = "edges|explore|play|scripts"
NAME = rf"`([A-Z]\w+|chat_fake\.api|{FUNCTIONS})`"

PAGES = sorted((DOCS / "reference").glob("*.md"))


class Section(NamedTuple):
    """What the reference says of one class.

    Attributes:
        page: The page's name.
        members: The members that it names, each with its call as it is shown; None for what is
            not called.
        call: How the class itself is called, if that is shown.
    """

    page: str
    members: dict[str, str | None]
    call: str | None


def sections() -> dict[str, Section]:
    """Give the sections of the reference, by the class that each is about.

    A section begins at a heading that is nothing but a class's name, and ends at the next heading
    of that level. Members are its headings below that, and the first cells of its tables; a member
    whose heading has brackets shows its call in the block that follows.
    """
    found: dict[str, Section] = {}
    for page in PAGES:
        text = page.read_text("utf-8")
        lines = text.splitlines()
        shown = {block.start: " ".join(block.lines) for block in fences(text)}
        current: Section | None = None
        level, open_member = 0, ""
        for number, line in enumerate(prose(text).splitlines()):
            if number + 1 in shown and lines[number] == "```text" and current is not None:
                if open_member:
                    current.members[open_member] = shown[number + 1]
                elif not current.members:
                    name = next(name for name, section in found.items() if section is current)
                    found[name] = current = current._replace(call=shown[number + 1])
                open_member = ""
            elif heading := re.fullmatch(r"(#+) (.+)", line):
                depth, title = len(heading[1]), heading[2]
                if depth <= level:
                    current, level = None, 0
                open_member = ""
                if name := re.fullmatch(NAME, title):
                    current, level = Section(page.name, {}, None), depth
                    found[name[1]] = current
                elif (member := re.fullmatch(r"`(\w+)\(\)`", title)) and current is not None:
                    open_member = member[1]
                    current.members[open_member] = f"{open_member}()"
            elif current is not None and (row := re.match(r"\| (`[^|]+) \|", line)):
                for member, arguments in re.findall(r"`(\w+)(\([^`]*\))?`", row[1]):
                    current.members.setdefault(member, (arguments and member + arguments) or None)
    return found
