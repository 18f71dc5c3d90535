#!/usr/bin/env python3
"""What CONTRIBUTING.md and docs/design.md say of the tree holds: every path that they name in backticks is there, and the
table of folders in docs/design.md says of each what CMakeLists.txt lets it include.

  tests/build/pages.py SOURCE_DIR

A path stands for itself, or for one below src/ or src/sim/; a bare file name for a file anywhere; a program of bench/ for its
source. Words in capitals stand for something else.
"""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
wrong = []


def is_there(name):
    if "/" in name:
        return any((root / below / (name + end)).exists() for below in ("", "src", "src/sim") for end in ("", ".cpp"))
    return any(next((root / below).rglob(name), None) for below in ("src", "tests", "examples", "docs", "cmake"))


for page, least in (("CONTRIBUTING.md", 20), ("docs/design.md", 60)):
    text = (root / page).read_text()
    names = {name for name in re.findall(r"`([A-Za-z0-9_./-]+)`", text)
             if not re.search(r"[A-Z][A-Z]", name) and ("/" in name or re.search(r"\.(cpp|hpp|sh|txt|md|yaml|csv)$", name))
             and not name.startswith(("/", "--"))}
    if len(names) < least:
        wrong.append(f"{page}: only {len(names)} paths found: has the page another form?")
    wrong += [f"{page} names {name}, which is not there" for name in sorted(names) if not is_there(name)]

included = {}
for name, words in re.findall(r"^weft_library\((\w+)([^)]*)\)", (root / "CMakeLists.txt").read_text(), re.M):
    may = re.search(r"\bMAY_INCLUDE\s+([a-z\s]+)", words.replace("TESTS_MAY_INCLUDE", "TESTS"))
    included[name] = set(may.group(1).split()) if may else set()
rows = re.findall(r"^\| `(\w+)`.* \| ([a-z ]*?) ?\|$", (root / "docs/design.md").read_text(), re.M)
most = "all of the above but api and endpoint"
told = {name: set(included) - {"cli", "app", "api", "endpoint"} if names == most else set(names.split())
        for name, names in rows if name in included}
for name in sorted(set(included) - {"cli"}):  # whose row speaks of main, too
    if name not in told:
        wrong.append(f"docs/design.md has no row of src/{name}")
    elif told[name] != included[name]:
        wrong.append(f"docs/design.md: {name} may include {' '.join(sorted(told[name])) or 'nothing'}, "
                     f"CMakeLists.txt says {' '.join(sorted(included[name])) or 'nothing'}")
print("\n".join(wrong))
sys.exit(1 if wrong else 0)
