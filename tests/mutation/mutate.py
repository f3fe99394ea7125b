# SPDX-License-Identifier: Apache-2.0
"""Changes the headers on purpose and looks whether the tests notice. README.md in this folder says how the lists are written.

usage: mutate.py --check                      every pattern occurs exactly once, and every test that is named exists
       mutate.py [FOLDER ...] [options]       builds, runs the tests with each mutant of these folders (default: all), prints the score
"""
import argparse
import collections
import concurrent.futures
import html
import json
import os
import pathlib
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import time
import zlib

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parent.parent
COLUMNS = ("file", "form", "pattern", "replacement", "program", "test", "before", "note")
FORMS = ("expr", "stmt", "text", "equivalent")
SWITCH = '''// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdlib>
namespace backsight_mutation {
inline const unsigned long active = [] {
  const char* const number = std::getenv("BACKSIGHT_MUTANT");
  return number == nullptr ? 0UL : std::strtoul(number, nullptr, 16);
}();
constexpr bool on(unsigned long number) { return !__builtin_is_constant_evaluated() && active == number; }
}  // namespace backsight_mutation
'''


class Mutant:
    def __init__(self, folder, line, values):
        self.folder, self.line = folder, line
        for name, value in zip(COLUMNS, values + [""] * (len(COLUMNS) - len(values))):
            setattr(self, name, value.strip())
        self.program = self.program or f"test_{folder}"
        self.before = self.before or "-"
        self.number = zlib.crc32("\t".join((self.file, self.pattern, self.replacement)).encode())
        self.problem = ""
        self.begin = self.end = self.at_line = 0
        if self.form not in FORMS:
            self.problem = f"form {self.form!r} is none of {', '.join(FORMS)}"
        elif self.before not in ("-", "killed", "survived"):
            self.problem = f"before is {self.before!r}, not killed, survived or -"

    @property
    def place(self):
        return f"{self.file}:{self.at_line}"

    def find(self, text):
        """Sets where in `text` the part lies that is replaced."""
        parts = self.pattern.split("%%")
        if len(parts) == 1:
            parts = ["", parts[0], ""]
        if len(parts) != 3 or not parts[1].strip():
            self.problem = "a pattern has either no %% or two, around something"
            return
        found = list(re.finditer(r"\s*".join(f"({tokens(part)})" for part in parts), text))
        if len(found) != 1:
            self.problem = f"the pattern occurs {len(found)} times: {self.pattern}"
            return
        self.begin, self.end = found[0].span(2)
        self.at_line = text.count("\n", 0, self.begin) + 1


def path_of(file):
    """Where a header of a list is: below include/backsight, or as it says where the program has it."""
    return file if file.startswith("examples/") else f"include/backsight/{file}"


def tokens(text):
    """A regular expression for C++ text in which white space does not matter."""
    return r"\s*".join(rf"\b{token}\b" if token[0].isalnum() or token[0] == "_" else re.escape(token)
                       for token in re.findall(r"\w+|[^\w\s]", text))


def load(folders):
    lists = sorted(HERE.glob("*.tsv"))
    unknown = set(folders) - {path.stem for path in lists}
    if unknown:
        sys.exit(f"mutate.py: no list for {', '.join(sorted(unknown))}")
    mutants, numbers = [], {}
    for path in lists:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if not line.strip() or line.startswith("#") or line.startswith("file\t"):
                continue
            mutant = Mutant(path.stem, number, line.split("\t"))
            if len(line.split("\t")) > len(COLUMNS):
                mutant.problem = "too many columns"
            if mutant.number in numbers:
                mutant.problem = f"the same as line {numbers[mutant.number].line}"
            numbers[mutant.number] = mutant
            mutants.append(mutant)
    texts = {}
    for mutant in mutants:
        header = SOURCE / path_of(mutant.file)
        if mutant.problem:
            continue
        if not header.is_file():
            mutant.problem = "no such header"
            continue
        texts.setdefault(mutant.file, header.read_text(encoding="utf-8"))
        mutant.find(texts[mutant.file])
    return mutants, texts


def check(mutants):
    """Problems of the lists, as lines; the tests that kill are looked for in the sources of the tests."""
    sources = "\n".join(path.read_text(encoding="utf-8") for path in sorted((SOURCE / "tests").rglob("*_test.cpp")))
    for mutant in mutants:
        if not mutant.problem and mutant.form != "equivalent":
            if mutant.program.startswith("test_") and mutant.test and mutant.test != "compile error":
                if f'"{mutant.test}"' not in sources:
                    mutant.problem = f"no test is called {mutant.test!r}"
    return [f"tests/mutation/{m.folder}.tsv:{m.line}: {m.file}: {m.problem}" for m in mutants if m.problem]


# ---- text with switches ----

def separate(mutants):
    """The mutants of one header that can be switched together, and those that overlap others by halves."""
    kept, apart = [], []
    for one in sorted(mutants, key=lambda m: (m.begin, -m.end)):
        crossed = any(other.begin < one.begin < other.end < one.end for other in kept)
        (apart if crossed else kept).append(one)
    return kept, apart


def switched(text, mutants, begin=0, end=None):
    """`text` from begin to end with each mutant behind its switch; those inside of others are switched in what the others keep."""
    end = len(text) if end is None else end
    out, position = "", begin
    rest = sorted(mutants, key=lambda m: (m.begin, -m.end))
    while rest:
        first = rest[0]
        same = [m for m in rest if (m.begin, m.end) == (first.begin, first.end)]
        inner = [m for m in rest if m not in same and m.begin < first.end]
        rest = [m for m in rest if m not in same and m not in inner]
        piece = switched(text, inner, first.begin, first.end)
        for m in same:
            if m.form == "expr":
                piece = f"(::backsight_mutation::on(0x{m.number:08x}UL) ? ({m.replacement}) : ({piece}))"
            else:
                piece = f"if (::backsight_mutation::on(0x{m.number:08x}UL)) {{ {m.replacement} }} else {{ {piece} }}"
        out += text[position:first.begin] + piece
        position = first.end
    return out + text[position:end]


def replaced(text, mutant):
    return text[:mutant.begin] + mutant.replacement + text[mutant.end:]


# ---- building ----

def write_changed(path, data):
    if path.is_file() and path.read_bytes() == data:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def copy_tree(tree, changed):
    """Makes `tree` a copy of the sources with the files of `changed` in their place; what stays the same is not touched."""
    wanted = set()
    for path in sorted(SOURCE.rglob("*")):
        relative = path.relative_to(SOURCE)
        if relative.parts[0] in ("build", ".git") or "__pycache__" in relative.parts or not path.is_file():
            continue
        wanted.add(relative)
        write_changed(tree / relative, changed[str(relative)] if str(relative) in changed else path.read_bytes())
        shutil.copymode(path, tree / relative)
    write_changed(tree / "mutation_switch.hpp", SWITCH.encode())
    for path in list(tree.rglob("*")):
        if path.is_file() and path.relative_to(tree) not in wanted and path.name != "mutation_switch.hpp":
            path.unlink()


def run(command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", **options)
    if done.returncode != 0:
        sys.exit(f"mutate.py: {shlex.join(map(str, command))}\n{done.stdout[-20000:]}")
    return done.stdout


def build(options, tree, objects, programs):
    if not (objects / "build.ninja").is_file():
        run(["cmake", "-S", tree, "-B", objects, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Debug", f"-DCMAKE_CXX_FLAGS_DEBUG={options.flags}",
             f"-DCMAKE_CXX_FLAGS=-include {tree}/mutation_switch.hpp", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON",
             "-DBACKSIGHT_INSTALL=OFF", "-DBACKSIGHT_BUILD_SLOW_TESTS=ON", *options.define])
    targets = sorted({"backsight-cli" if program.startswith("ctest:") else program for program in programs})
    run(["cmake", "--build", objects, "-j", str(options.jobs), "--target", *targets])


# ---- running ----

class Programs:
    """The built tests: what they are called, how long they take, and what they say of a mutant."""

    def __init__(self, options, objects):
        self.options, self.objects = options, objects
        self.paths = {path.name: path for path in objects.rglob("test_*") if path.is_file() and os.access(path, os.X_OK)}
        self.names, self.seconds = {}, {}

    def call(self, words, number, seconds):
        """(failed, text) of a command with one mutant on."""
        environment = dict(os.environ, BACKSIGHT_MUTANT=f"{number:x}")
        if not self.options.corpus:
            environment.pop("BACKSIGHT_CORPUS", None)

        def limits():
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
        try:
            done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment, timeout=seconds,
                                  cwd=self.objects, preexec_fn=limits)
        except subprocess.TimeoutExpired as late:
            return True, (late.stdout or b"").decode(errors="replace") + "\ntimeout"
        return done.returncode not in (0, 77), done.stdout.decode(errors="replace")

    def words(self, program, test=None):
        if program.startswith("ctest:"):
            return ["ctest", "--test-dir", str(self.objects), "-R", f"^{re.escape(program[6:])}$", "--no-tests=error", "--output-on-failure"]
        path = str(self.paths[program])
        return [path, "-r", "xml", "-a"] if test is None else [path, re.sub(r'([\\,\["])', r"\\\1", test)]

    def measure(self, program):
        begin = time.monotonic()
        failed, text = self.call(self.words(program), 0, 1800)
        if failed:
            sys.exit(f"mutate.py: {program} fails without a mutant\n{text[-4000:]}")
        self.seconds[program] = max(60.0, 10 * (time.monotonic() - begin))
        self.names[program] = set(cases(text))

    def outcome(self, mutant, program=None):
        """(killed, by): by the expected test, by another one, or not at all."""
        words_of = self.words if program is None else (lambda _, test=None: [str(program), *self.words(mutant.program, test)[1:]])
        seconds = self.seconds[mutant.program]
        if mutant.test and mutant.test in self.names[mutant.program]:
            failed, _ = self.call(words_of(mutant.program, mutant.test), mutant.number, seconds)
            if failed:
                return True, mutant.test
        failed, text = self.call(words_of(mutant.program), mutant.number, seconds)
        if not failed:
            return False, ""
        return True, mutant.program if mutant.program.startswith("ctest:") else (cases(text) or ["?"])[-1]


def cases(text):
    """The names of the test cases in XML of Catch2; the last one is that which ended the run."""
    return [html.unescape(name) for name in re.findall(r'<TestCase name="([^"]*)"', text)]


def alone(options, programs, mutant, text, work):
    """A mutant of text: the one source with its test is compiled against the changed header and linked alone."""
    overlay = work / f"{mutant.number:08x}"
    write_changed(overlay / "backsight" / mutant.file, replaced(text, mutant).encode())
    tree = work.parent / "tree"
    header = pathlib.PurePath(mutant.file).stem
    sources = sorted((tree / "tests" / mutant.program.removeprefix("test_")).glob("*_test.cpp"))
    chosen = [s for s in sources if mutant.test and f'"{mutant.test}"' in s.read_text(encoding="utf-8")] or \
             [s for s in sources if s.name == f"{header}_test.cpp"] or sources[:1]
    commands = json.loads((programs.objects / "compile_commands.json").read_text())
    folder = f"/{mutant.program}.dir/"
    # Where sources are joined into units, any unit of the program tells how they are compiled.
    command = next((c for c in commands if c["file"] == str(chosen[0])), None) or \
        next(c for c in commands if folder in c["command"] and "/Unity/" in c["file"])
    words = [str(chosen[0]) if word == command["file"] else word for word in shlex.split(command["command"])]
    made = overlay / "test.o"
    old = words[words.index("-o") + 1]
    words[words.index("-o") + 1] = str(made)
    compiled = subprocess.run([*words[:1], f"-I{overlay}", *words[1:]] if "ccache" not in words[0] else [*words[:2], f"-I{overlay}", *words[2:]],
                              cwd=command["directory"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    if compiled.returncode != 0:
        first = next((line for line in compiled.stdout.splitlines() if "error" in line), "")
        return True, "compile error", first.strip()
    link = run(["ninja", "-C", str(programs.objects), "-t", "commands", "-s",
                programs.paths[mutant.program].relative_to(programs.objects)]).splitlines()[-1]
    words = [word for word in shlex.split(link.replace(": && ", "", 1).removesuffix(" && :"))
             if not (folder in word and (word.endswith("_test.cpp.o") or "/Unity/" in word))]
    program = overlay / mutant.program
    words[words.index("-o") + 1] = str(program)
    words.insert(words.index("-o"), str(made))
    run(words, cwd=programs.objects)
    killed, by = programs.outcome(mutant, program)
    return killed, by, f"only {chosen[0].name} (for {old})" if not killed else ""


# ---- report ----

def score(mutants, results):
    print(f"\n{'folder':10} {'mutants':>8} {'killed':>7} {'survived':>9} {'score':>6} {'by another':>11} {'equivalent':>11}   "
          "those of the first study: before -> now")
    total = collections.Counter()
    folders = sorted({m.folder for m in mutants})
    for folder in [*folders, "all"]:
        count = total
        if folder != "all":
            count = collections.Counter()
            for m in (m for m in mutants if m.folder == folder):
                if m.form == "equivalent":
                    count["equivalent"] += 1
                    continue
                killed, by = results[m.number]
                count["mutants"] += 1
                count["killed"] += killed
                count["other"] += killed and bool(m.test) and by != m.test
                if m.before != "-":
                    count["old"] += 1
                    count["old before"] += m.before == "killed"
                    count["old now"] += killed
            total += count

        def rate(part, whole):
            return f"{100 * part / whole:.0f} %" if whole else "-"
        print(f"{folder:10} {count['mutants']:8} {count['killed']:7} {count['mutants'] - count['killed']:9} "
              f"{rate(count['killed'], count['mutants']):>6} {count['other']:11} {count['equivalent']:11}   "
              f"{count['old before']} -> {count['old now']} of {count['old']}: {rate(count['old before'], count['old'])} -> {rate(count['old now'], count['old'])}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", metavar="FOLDER", help="core, cfi, ...: a list beside this script")
    parser.add_argument("--check", action="store_true", help="only check the lists")
    parser.add_argument("--only", metavar="TEXT", help="only mutants whose file:line, pattern or note contains the text")
    parser.add_argument("--build", type=pathlib.Path, default=SOURCE / "build/mutation", help="where to build (default build/mutation)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 2)
    parser.add_argument("--flags", default="-O1", help="of the compiler (default -O1)")
    parser.add_argument("--define", action="append", default=[], metavar="-DNAME=VALUE", help="another argument for cmake")
    parser.add_argument("--corpus", action="store_true", help="leave BACKSIGHT_CORPUS set: also what only the corpus kills is killed")
    parser.add_argument("--no-program", action="store_true", help="leave out the mutants that only tests of the program kill (ctest:...)")
    options = parser.parse_args()

    mutants, texts = load(options.folders)
    problems = check(mutants)
    if options.check or problems:
        print("\n".join(problems) or f"{len(mutants)} mutants: every pattern occurs once")
        return 1 if problems else 0

    # The tree has the switches of all folders, so that runs of different folders build the same.
    work = options.build.resolve()
    tree, objects = work / "tree", work / "objects"
    changed, apart = {}, [m for m in mutants if m.form == "text"]
    for file in texts:
        together, crossing = separate([m for m in mutants if m.file == file and m.form in ("expr", "stmt")])
        apart += crossing
        changed[path_of(file)] = switched(texts[file], together).encode()
    copy_tree(tree, changed)

    chosen = [m for m in mutants if not options.folders or m.folder in options.folders]
    if options.only:
        chosen = [m for m in chosen if any(options.only in text for text in (m.place, m.pattern, m.note))]
    if options.no_program:
        chosen = [m for m in chosen if not m.program.startswith("ctest:")]
    tried = [m for m in chosen if m.form != "equivalent"]
    if not tried:
        sys.exit("mutate.py: no mutant was chosen")
    build(options, tree, objects, {m.program for m in tried})
    programs = Programs(options, objects)
    for program in sorted({m.program for m in tried}):
        programs.measure(program)
    shutil.rmtree(work / "alone", ignore_errors=True)

    results = {}

    def attempt(mutant):
        if mutant in apart:
            return (mutant, *alone(options, programs, mutant, texts[mutant.file], work / "alone"))
        return (mutant, *programs.outcome(mutant), "")
    # As they come, so that a run that is ended early still says what it found.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    pool = concurrent.futures.ThreadPoolExecutor(options.jobs)
    try:
        with open(work / "results.tsv", "w", encoding="utf-8") as out:
            for done in concurrent.futures.as_completed([pool.submit(attempt, mutant) for mutant in tried]):
                mutant, killed, by, more = done.result()
                results[mutant.number] = killed, by
                out.write("\t".join((mutant.folder, mutant.place, mutant.pattern, mutant.replacement, "killed" if killed else "survived", by)) + "\n")
                out.flush()
                what = mutant.note or f"{mutant.pattern} -> {mutant.replacement}"
                if not killed:
                    print(f"SURVIVED  {mutant.place}: {what} {more}", flush=True)
                elif mutant.test and by != mutant.test:
                    print(f"killed    {mutant.place}: {what}\n          not by {mutant.test!r}, but by {by!r} {more}", flush=True)
                else:
                    print(f"killed    {mutant.place}: {what}: {by!r}", flush=True)
    except KeyboardInterrupt:
        print(f"ended after {len(results)} of {len(tried)} mutants")
    pool.shutdown(cancel_futures=True)
    chosen = [m for m in chosen if m.form == "equivalent" or m.number in results]
    score(chosen, results)
    return 0 if len(results) == len(tried) and all(killed for killed, _ in results.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
