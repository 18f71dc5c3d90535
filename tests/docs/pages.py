#!/usr/bin/env python3
"""Runs the commands that pages show and compares what they print with what the pages say.

  tests/docs/pages.py WEFT PAGE.md...

A block whose first line begins with `$ ` is a transcript: its commands are run by bash, as on a terminal of 80 columns,
and what follows each is what it prints. `...` stands for what is left out; where lines are broken does not matter. `$ cat
FILE` is no command here: it says what FILE holds. A folder of the repository is named in front of the block, in which
the commands are then run (in a copy of it; docs/readme without):

  <!-- in examples/30-acp-puzzle -->
  <!-- in an empty folder -->
  <!-- not run: needs two machines -->

Blocks of one page share their folders, so that a file that one wrote is there for the next.
"""
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import fcntl
import termios

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
# What a page leaves out: how long it took on somebody's machine, and progress.
OURS = re.compile(r"packet-hops/s|flows/s|messages/s|% delivered|at work for|left$|^\d+\.\d\d s$")


def blocks(page):
    """Folder or None, line, and the lines of every transcript."""
    place, inside, found = "docs/readme", None, []
    for number, line in enumerate(page.split("\n"), 1):
        comment = re.match(r"<!-- (?:in (an empty folder|\S+)|not run: .+) -->$", line)
        if comment:
            place = comment.group(1)
        elif line.startswith("```"):
            if inside and inside[0][1].startswith("$ "):
                found.append((place, inside))
            if inside is not None:
                place = "docs/readme"
            inside = [] if inside is None else None
        elif inside is not None:
            inside.append((number, line))
    return found


def steps(lines):
    """Line, command and expected text, command by command."""
    made = []
    for number, line in lines:
        if line.startswith("$ "):
            made.append((number, line[2:], []))
        else:
            made[-1][2].append(line)
    return made


def run(command, folder, binaries):
    """What the command prints on a terminal of 80 columns."""
    main, other = pty.openpty()
    fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 80, 0, 0))
    environment = dict(os.environ, PATH=binaries + ":" + os.environ["PATH"], NO_COLOR="1", TERM="dumb")
    process = subprocess.Popen(["bash", "-c", command], cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=other,
                               stderr=other, close_fds=True)
    os.close(other)
    out = b""
    while True:
        try:
            part = os.read(main, 65536)
        except OSError:  # what a terminal says when nobody is left at the other end
            break
        if not part:
            break
        out += part
    process.wait()
    os.close(main)
    text = re.sub(r"\r[^\n\r]*\x1b\[K", "", out.decode(errors="replace"))
    text = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", text).replace("\r", "")
    return "\n".join(line for line in text.split("\n") if not OURS.search(line))


def first_difference(wanted, printed):
    """The words that are not there in this order, or None."""
    at = 0
    parts = [part.split() for part in re.split(r"(?m)^\s*\.\.\.$| \.\.\. | \.\.\.$", "\n".join(wanted))]
    words = printed.split()
    for index, part in enumerate(parts):
        if not part:
            continue
        places = range(at, len(words) - len(part) + 1) if index > 0 else [at]
        place = next((i for i in places if words[i:i + len(part)] == part), None)
        if place is None:
            most = max(places, default=at, key=lambda i: sum(1 for _ in common(words[i:], part)))
            same = sum(1 for _ in common(words[most:], part))
            return f"'{' '.join(part[max(0, same - 4):same + 6])}' is '{' '.join(words[most + max(0, same - 4):most + same + 6])}'"
        at = place + len(part)
    if parts[-1] and at != len(words):
        return f"more is printed: '{' '.join(words[at:at + 10])}'"
    return None


def common(one, other):
    for a, b in zip(one, other):
        if a != b:
            return
        yield a


def check(path, binaries, scratch):
    """How many commands were run, and how many pages say something else."""
    with open(path, encoding="utf-8") as page:
        found = blocks(page.read())
    ran = wrong = 0
    for place, lines in found:
        if place is None:
            continue
        folder = os.path.join(scratch, os.path.basename(path), place)
        if place == "an empty folder":
            os.makedirs(folder, exist_ok=True)
        elif not os.path.exists(folder):
            shutil.copytree(os.path.join(ROOT, place), folder)
        for number, command, wanted in steps(lines):
            shown = re.fullmatch(r"cat (\S+)", command)
            if shown:
                with open(os.path.join(folder, shown.group(1)), "w", encoding="utf-8") as out:
                    out.write("\n".join(wanted) + "\n")
                continue
            difference = first_difference(wanted, run(command, folder, binaries))
            ran += 1
            if difference:
                wrong += 1
                print(f"{os.path.relpath(path, ROOT)}:{number}: $ {command}\n  {difference}", flush=True)
    return ran, wrong


def main():
    binary = os.path.realpath(sys.argv[1])
    ran = wrong = 0
    with tempfile.TemporaryDirectory() as scratch:
        binaries = os.path.join(scratch, "bin")
        os.mkdir(binaries)
        os.symlink(binary, os.path.join(binaries, "weft"))
        for path in sys.argv[2:]:
            one, bad = check(path, binaries, scratch)
            if one == 0:
                print(f"{path} has no command that could be run: is its form known?")
                return 1
            ran += one
            wrong += bad
    print(f"{ran} commands, {wrong} print something else than their page")
    return 1 if wrong else 0


sys.exit(main())
