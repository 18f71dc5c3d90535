#!/usr/bin/env python3
"""Runs the commands that pages show and compares what they print with what the pages say.

  tests/docs/pages.py WEFT [PAGE.md...]   without a page, those of RUN
  tests/docs/pages.py WEFT --rewrite PAGE.md...   puts in what is printed now, where a block leaves nothing out
  tests/docs/pages.py WEFT --named     on all pages: commands that are only named have verbs and options that there are

A block whose first line begins with `$ ` is a transcript: its commands are run by bash, as on a terminal of 80 columns,
and what follows each is what it prints. `...` stands for what is left out; where lines are broken does not matter. `$ cat
FILE` is no command here: it says what FILE holds. A folder of the repository is named in front of the block, in which
the commands are then run (in a copy of it; docs/readme without):

  <!-- in examples/30-acp-puzzle -->
  <!-- in an empty folder -->
  <!-- not run: needs two machines -->

Blocks of one page share their folders, so that a file that one wrote is there for the next; `share` of the repository is in
each. A command of another program that is not installed is left out, by name. With --named, a transcript without a mark that says why
it is not run is wrong on a page that nobody runs, and so is a command of an example's page that its `commands` do not have.
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
OURS = re.compile(r"packet-hops/s|flows/s|messages/s|% delivered|at work for|left$|^\d+\.\d\d s$|^Running as user")
RUN = ["README.md"] + [f"docs/{page}.md" for page in ("simulator", "why", "render", "training")]
COMPARED = ["docs/tutorial.md", "docs/limits.md"]  # by tests of their own, in tests/golden


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


def check(path, binaries, scratch, rewrite):
    """How many commands were run, and how many pages say something else."""
    with open(path, encoding="utf-8") as page:
        text = page.read()
    found, page_lines, moved = blocks(text), text.split("\n"), 0
    ran = wrong = 0
    for place, lines in found:
        if place is None:
            continue
        folder = os.path.join(scratch, os.path.basename(path), place)
        if place == "an empty folder":
            os.makedirs(folder, exist_ok=True)
        elif not os.path.exists(folder):
            shutil.copytree(os.path.join(ROOT, place), folder)
        if not os.path.exists(os.path.join(folder, "share")):
            os.symlink(os.path.join(ROOT, "share"), os.path.join(folder, "share"))
        for number, command, wanted in steps(lines):
            shown = re.fullmatch(r"cat (\S+)", command)
            if shown:
                with open(os.path.join(folder, shown.group(1)), "w", encoding="utf-8") as out:
                    out.write("\n".join(wanted) + "\n")
                continue
            program = command.split()[0]
            if shutil.which(program, path=binaries + ":" + os.environ["PATH"]) is None:
                print(f"{os.path.relpath(path, ROOT)}:{number}: {program} is not installed, and not run", flush=True)
                continue
            printed = run(command, folder, binaries)
            difference = first_difference(wanted, printed)
            ran += 1
            if difference and rewrite and not any("..." in line for line in wanted):
                now = [line.rstrip() for line in printed.strip("\n").split("\n")]
                page_lines[number + moved:number + moved + len(wanted)] = now
                moved += len(now) - len(wanted)
            if difference:
                wrong += 1
                print(f"{os.path.relpath(path, ROOT)}:{number}: $ {command}\n  {difference}", flush=True)
    if rewrite:
        with open(path, "w", encoding="utf-8") as page:
            page.write("\n".join(page_lines))
    return ran, wrong


class Help:
    """What `weft VERB --help` knows of."""

    def __init__(self, binary):
        self.binary, self.options = binary, {}

    def of(self, *verbs):
        """Options, or None where there is no such verb."""
        if verbs not in self.options:
            done = subprocess.run([self.binary, *verbs, "--help"], capture_output=True, text=True, check=False)
            known = done.returncode == 0 and f"Usage: {' '.join(('weft',) + verbs)} [" in done.stdout
            self.options[verbs] = set(re.findall(r"(?<![\w-])-(?:-[a-z][a-z0-9-]*|[a-z])", done.stdout)) if known else None
        return self.options[verbs]


def wrong_words(command, help_of):
    """What a command names that there is not."""
    words = re.split(r" -- | \||;| &|>|<|#", command)[0].replace("[", " ").replace("]", " ").split()[1:]
    if not words or not re.fullmatch(r"[a-z-]+", words[0]):
        return []
    known = help_of.of() if words[0].startswith("-") else help_of.of(words[0])
    if known is None:
        return [words[0]]
    for depth in (2, 3):
        inner = help_of.of(*words[:depth]) if len(words) >= depth and all(re.fullmatch(r"[a-z]+", word) for word in words[:depth]) else None
        known = known | (inner or set())
    return [option for option in re.findall(r"(?<!\S)-(?:-[a-z][a-z0-9-]*|[a-z]\b)", " ".join(words)) if option not in known]


def named_commands(text):
    """Line and command, of everything that is written as code."""
    prose, in_block = [], False
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("```"):
            in_block = not in_block
        code = re.match(r"(?:    )?(?:\$ )?(weft [a-z-].*)", line) if in_block or line.startswith("    ") else None
        if code:
            yield number, code.group(1)
        prose.append("" if in_block or line.startswith("```") else line)
    joined = "\n".join(prose)
    for found in re.finditer(r"`(weft\s[^`]+)`", joined):
        yield joined.count("\n", 0, found.start()) + 1, " ".join(found.group(1).split())


def unmarked(text, begin="$ "):
    """Lines of transcripts that say neither that they are run nor why not."""
    marked, in_block = False, False
    for number, line in enumerate(text.split("\n"), 1):
        if re.match(r"<!-- not run: .+ -->$", line):
            marked = True
        elif line.startswith("```"):
            in_block = not in_block
            marked = marked and in_block
        elif line.startswith("    " + begin) or (in_block and line.startswith(begin)):
            if not marked:
                yield number
        elif line and not in_block and not line.startswith("    "):
            marked = False


def check_named(binary):
    help_of, wrong, count = Help(binary), 0, 0

    def say(page, number, words):
        nonlocal wrong
        wrong += 1
        print(f"{page}:{number}: {words}", flush=True)

    pages = subprocess.run(["git", "-C", ROOT, "ls-files", "*.md"], capture_output=True, text=True, check=True).stdout.split()
    for page in pages:
        with open(os.path.join(ROOT, page), encoding="utf-8") as file:
            text = file.read()
        for number, command in named_commands(text):
            count += 1
            for word in wrong_words(command, help_of):
                say(page, number, f"there is no '{word}': {command}")
        if page not in RUN + COMPARED and not page.startswith("examples/"):
            for number in unmarked(text):
                say(page, number, "a transcript that nobody runs, and no <!-- not run: why --> in front of it")
        folder = os.path.dirname(os.path.join(ROOT, page))
        if os.path.exists(os.path.join(folder, "commands")):
            with open(os.path.join(folder, "commands"), encoding="utf-8") as file:
                there = {line.strip() for line in file}
            for number in unmarked(text, "weft "):
                line = text.split("\n")[number - 1].strip()
                if line not in there:
                    say(page, number, f"not in commands, so nobody runs it: {line}")
    print(f"{count} commands are named, {wrong} are wrong")
    return 1 if wrong or count == 0 else 0


def main():
    if sys.argv[2:] == ["--named"]:
        return check_named(os.path.realpath(sys.argv[1]))
    binary = os.path.realpath(sys.argv[1])
    ran = wrong = 0
    with tempfile.TemporaryDirectory() as scratch:
        binaries = os.path.join(scratch, "bin")
        os.mkdir(binaries)
        os.symlink(binary, os.path.join(binaries, "weft"))
        for path in [word for word in sys.argv[2:] if word != "--rewrite"] or [os.path.join(ROOT, page) for page in RUN]:
            one, bad = check(path, binaries, scratch, "--rewrite" in sys.argv)
            if one == 0:
                print(f"{path} has no command that could be run: is its form known?")
                return 1
            ran += one
            wrong += bad
    print(f"{ran} commands, {wrong} print something else than their page")
    return 1 if wrong else 0


sys.exit(main())
