# SPDX-License-Identifier: Apache-2.0
"""Puts code, program output and record tables into README.md and docs/, between marks; no code is typed into a page.

    python3 docs/update.py [--check] PROGRAMS

PROGRAMS is a build folder. A page holds, and this script fills,

    <!-- begin example examples/own_format.cpp schemas -->   the lines of a file between two lines `// [schemas]` (or `# [schemas]`)
    <!-- begin file examples/expected/own_format.txt -->     a whole text file
    <!-- begin tables xray -->                               the tables that tests/docs/format_tables prints
    <!-- begin run backsight info LOG -->                    the command and what it prints, in the folder tests/data
    <!-- begin commands backsight -->                       each command with its options, from its manual page
    <!-- end -->

`tables`, `run` and `commands` are left as they are when PROGRAMS has not got the program. With --check nothing is written, and pages that
would change are an error, as are code blocks outside of marks.
"""
import difflib
import glob
import os
import re
import shlex
import subprocess
import sys
import textwrap

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BLOCK = re.compile(r"<!-- begin (\w+) (.+?) -->\n(.*?)<!-- end -->\n", re.DOTALL)
LANGUAGES = {".cpp": "cpp", ".hpp": "cpp", ".cmake": "cmake", ".py": "python", ".sh": "sh"}


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def example(words):
    path, name = words
    parts = re.split(rf"^ *(?://|#) \[{re.escape(name)}\]\n", read(path), flags=re.MULTILINE)
    if len(parts) != 3:
        raise ValueError(f"{path} has not two lines `// [{name}]` or `# [{name}]`")
    return f"```{LANGUAGES.get(os.path.splitext(path)[1], 'cmake')}\n{textwrap.dedent(parts[1])}```\n"


def text_file(words):
    (path,) = words
    return f"```{LANGUAGES.get(os.path.splitext(path)[1], 'text')}\n{read(path)}```\n"


def program(build, name):
    for folder in ("examples/cli", "tests/docs", "examples"):
        path = os.path.join(build, folder, name)
        if os.path.exists(path):
            return path
    return None


def tables(words, build):
    path = program(build, "format_tables")
    return path and subprocess.run([path, *words], check=True, capture_output=True, text=True).stdout


def run(words, build):
    path = program(build, words[0])
    if path is None:
        return None
    done = subprocess.run([path, *words[1:]], capture_output=True, text=True, cwd=os.path.join(ROOT, "tests", "data"))
    if done.returncode > 1:
        raise ValueError(f"{shlex.join(words)} ends with {done.returncode}: {done.stderr}")
    lines = [line.rstrip() for line in (done.stdout + done.stderr).splitlines()]
    return "```console\n$ " + shlex.join(words) + "\n" + "\n".join(lines) + "\n```\n"


def man_text(line):
    """A line of the manual page in Markdown: names in code, the rest as it is."""
    return re.sub(r"\\f[BIR]", "", line).replace("\\-", "-").replace("\\(aq", "'").replace("\\&", "").replace("\\e", "\\")


def commands(words, build):
    """The commands of the manual page that the program makes of itself, with the options of each in a table."""
    path = program(build, words[0])
    if path is None:
        return None
    page = subprocess.run([path, "pages", "man"], check=True, capture_output=True, text=True).stdout
    page = re.search(r"^\.SH COMMANDS\n(.*?)^\.SH ", page, re.DOTALL | re.MULTILINE).group(1)
    text = ""
    for section in re.split(r"^\.SS ", page, flags=re.MULTILINE)[1:]:
        name, usage, _, about, *lines = section.splitlines()
        rows, group = "", ""
        for at, line in enumerate(lines):
            if line == ".PP":
                group = man_text(lines[at + 1])
            if line != ".TP" or not lines[at + 1].startswith("\\fB\\-") or "\\-\\-help" in lines[at + 1] or group == "Manners":
                continue
            meaning = man_text(lines[at + 2])
            formats = re.search(r"(?: \[[^]]*\])+", meaning)
            for_what = formats.group(0).strip().replace("] [", ", ").strip("[]").replace("with --as", "with `--as`") if formats else ""
            if formats:
                meaning = meaning[: formats.start()] + meaning[formats.end() :]
            cells = (man_text(lines[at + 1]), meaning, for_what)
            rows += "| `{}` | {} | {} |\n".format(*(cell.replace("|", "\\|") for cell in cells))
        text += f"\n## {man_text(name)}\n\n{man_text(about)}\n\n`{man_text(usage)}`\n"
        if rows:
            text += "\n| Option | What it does | Formats, when not all |\n|---|---|---|\n" + rows
    return text + "\n"


def filled(page, build):
    def fill(match):
        kind, rest, old = match.groups()
        words = shlex.split(rest)
        if kind == "example":
            new = example(words)
        elif kind == "file":
            new = text_file(words)
        elif kind == "tables":
            new = tables(words, build)
        elif kind == "commands":
            new = commands(words, build)
        elif kind == "run":
            new = run(words, build)
        else:
            raise ValueError(f"a mark of an unknown kind: {kind}")
        return f"<!-- begin {kind} {rest} -->\n{old if new is None else new}<!-- end -->\n"

    return BLOCK.sub(fill, page)


def typed_code(page):
    """The languages of code blocks in a page that no mark vouches for; shell commands may be typed."""
    blocks = re.findall(r"^```(.*?)\n.*?^```$", BLOCK.sub("", page), re.DOTALL | re.MULTILINE)
    return [language for language in blocks if language != "sh"]


def prose(page):
    return re.sub(r"^```.*?^```$", "", page, flags=re.DOTALL | re.MULTILINE)


def headings(page):
    """What links to the headings of a page are called."""
    titles = re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


def main():
    words = sys.argv[1:]
    check = "--check" in words and os.environ.get("BACKSIGHT_UPDATE_GOLDEN") != "1"
    build = os.path.abspath(next((word for word in words if word != "--check"), ""))
    failed = False
    for path in ["README.md", *sorted(os.path.relpath(p, ROOT) for p in glob.glob(os.path.join(ROOT, "docs", "**", "*.md"), recursive=True))]:
        page = read(path)
        try:
            new = filled(page, build)
        except ValueError as error:
            sys.exit(f"{path}: {error}")
        if typed_code(page):
            print(f"{path}: a code block stands outside of <!-- begin --> and <!-- end -->")
            failed = True
        for link, heading in re.findall(r"\]\(([^)#:]*)(?:#([^):]*))?\)", prose(page)):
            target = os.path.join(ROOT, os.path.dirname(path), link) if link else os.path.join(ROOT, path)
            if not os.path.exists(target) or (heading and target.endswith(".md") and heading not in headings(read(target))):
                print(f"{path}: a link goes nowhere: {link}{'#' + heading if heading else ''}")
                failed = True
        if new == page:
            continue
        if check:
            failed = True
            print("\n".join(difflib.unified_diff(page.splitlines(), new.splitlines(), path, "from the sources", lineterm="")))
        else:
            with open(os.path.join(ROOT, path), "w", encoding="utf-8") as file:
                file.write(new)
            print(f"{path} is updated")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
