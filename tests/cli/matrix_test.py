# SPDX-License-Identifier: Apache-2.0
"""Every command with every format and every option from outside: what is asked for changes the output, or is refused.

    matrix_test.py PROGRAM DATA
"""
import atexit
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True  # Nothing is written beside the tests.
import made_traces

PROGRAM, DATA = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
ELF = os.path.join(DATA, "xray/bin/workload-19")
CFI_ELF, BUILD_ID = "cfi/elf/gcc-O2", "11" * 20
# Two of each kind: what has no effect on one for lack of something to act on may have one on the other.
TRACES = {
    "XRay": ["xray/c19/fdr-threads.xray", "xray/c19/fdr-custom.xray", "xray/syn/syn-fdr-tail-and-missing-exits.xray"],
    "XRay profile": ["xray_profile/threads.xray"],
    "uftrace": ["uftrace/single-pg/uftrace.data", "uftrace/forkexec-pg/uftrace.data", "uftrace/args-spec/uftrace.data"],
    "memtrace": ["memtrace/yield/drmemtrace.yield.24340.6622.trace.zip", "memtrace/single"],
    "raw memtrace": ["memtrace/yield/drmemtrace.yield.24336.5587.raw", "memtrace/yield/drmemtrace.yield.24340.6622.raw"],
    "perf.data": ["perf/group-read/perf.data", "perf/dir-threads/perf.data"],
}
MADE = tempfile.mkdtemp()
atexit.register(shutil.rmtree, MADE)
TRACES["XRay"].append(made_traces.recursive_log(os.path.join(MADE, "recursive.xray")))
TRACES["memtrace"].append(made_traces.recursive_memtrace(os.path.join(MADE, "recursive.trace")))
# Values that are sure to matter; {first}, {tid}, ... are filled in from the trace.
VALUES = {
    "--limit": ["1"], "--depth": ["1"], "--min-duration": ["3us", "100us"], "--sort": None, "--begin": ["200", "752268880000"],
    "--end": ["40", "300", "752268880000"], "--window": ["1", "6"], "--filter": ["*a*"], "--notrace": ["*a*"], "--hide": ["*a*"],
    "--trigger": ["*a*@depth=1"], "--range": ["5us~20us"], "--symbols": [ELF], "--sysroot": ["/usr"], "--fields": ["time", "tid"],
    "--jobs": ["2"], "--thread": ["1", "16767"], "--match": None, "--output": None, "--index": None, "--format": None, "--as": None,
    "--to": None, "--by": None,
}
# What these change is not what is printed: how fast, where to, or only what the words beside them mean.
NO_OUTPUT = {"--jobs", "--index", "--as", "--force", "--match", "--sysroot", "--full-names", "--quiet", "--verbose", "--color", "--no-pager"}
# Beside which an option has its effect, where it needs another one.
BESIDE = {"--match": ["--filter", "ma.n"], "--index": ["--range", "5us~"]}


def call(*words):
    done = subprocess.run([PROGRAM, *words], capture_output=True, cwd=DATA, timeout=60)
    return done.returncode, done.stdout, done.stderr.decode("utf-8", "replace")


def commands():
    """The matrix of the help: formats by command."""
    text = call("--help")[1].decode()
    rows = text[text.index("Commands by formats:"):].splitlines()[1:]
    names = ["XRay", "XRay profile", "uftrace", "memtrace", "raw memtrace", "perf.data"]
    found = {}
    for row in rows[1:]:
        if not row.startswith("  "):
            break
        words = row.split()
        assert len(words) == 7, row
        found[words[0]] = {name for name, cell in zip(names, words[1:]) if cell == "yes"}
    return found


def options(command):
    """The options of a command, with their values where these are listed."""
    text = call(command, "--help")[1].decode()
    found = {}
    for line in re.split(r"\n  (?=-)", text)[1:]:
        head = re.match(r"([-\w,]+)(?: (\S+))?", line)
        names, value = head[1].split(","), head[2] or ""
        if value.endswith(":"):  # "Excludes: --verbose" stands behind a flag.
            value = ""
        name = next((n for n in names if n.startswith("--")), names[0])
        if name == "--help":
            continue
        listed = re.search(r":(?:\{([^}]*)\})", line) or re.search(r" ([a-z0-9]+(?:\|[a-z0-9-]+)+)", line)
        values = re.split(r"[|,]", listed[1]) if listed else []
        takes_value = not re.match(r"[-\w,]+\s{2,}", line) and value != ""
        found[name] = (takes_value, values)
    return found


class Matrix(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.made = 0

    def new(self):
        self.made += 1
        return os.path.join(self.folder, str(self.made))

    def base(self, command, trace):
        words = [command, trace] + ([trace] if command == "diff" else [])
        if command == "export":
            words += ["--to", "folded"]
        if command in ("split", "merge"):
            words += ["--output", self.new()]
        return words

    def values_of(self, name, takes_value, values, command):
        if not takes_value:
            return [[]]
        if values:
            return [[value] for value in values]
        if name == "--output":
            return [[self.new()]]
        if name == "--index":
            if command == "windows":
                return [[self.new()]]
            path = self.new()
            os.mkdir(path)
            return [[path]]
        if name == "--sort":
            return [["count"], ["name"], ["total_avg"]]
        return [[value] for value in VALUES.get(name) or ["1"]]

    def test_commands_that_a_format_does_not_have_are_refused_with_those_that_it_has(self):
        for command, having in commands().items():
            for form, traces in TRACES.items():
                if form in having:
                    continue
                with self.subTest(command=command, format=form):
                    code, out, err = call(*self.base(command, traces[0]))
                    self.assertEqual((code, out), (2, b""), err)
                    self.assertIn("does not apply", err)
                    self.assertIn("info", err)

    def test_every_option_has_an_effect_or_is_refused(self):
        silent = []
        tried = refused = 0
        for command, having in commands().items():
            known = options(command)
            self.assertTrue(known or command == "check", command)
            for form in having:
                plain = {trace: call(*self.base(command, trace)) for trace in TRACES[form]}
                plain = {trace: got for trace, got in plain.items() if got[0] != 2}
                self.assertTrue(plain, (command, form))
                plain_with = {}
                for name, (takes_value, values) in known.items():
                    effect, refusals, outcomes = False, 0, 0
                    for value in self.values_of(name, takes_value, values, command):
                        for trace in plain:
                            if effect:
                                break
                            words = self.base(command, trace)
                            for beside in ([], BESIDE.get(name), ["--as", "uftrace"], ["--as", "llvm-xray"], ["--raw"]):
                                if beside is None or (beside[:1] == ["--raw"] and "--raw" not in known):
                                    continue
                                if beside and beside[0] == name:
                                    continue
                                if beside and beside[0] not in known:
                                    continue
                                if name in words:
                                    # One of its values has to be there in any case.
                                    effect = effect or name != "--to" or value == ["folded"]
                                    extra = words[:]
                                    at = extra.index(name)
                                    extra[at:at + 2] = [name, *value]
                                else:
                                    extra = words + [name, *value]
                                key = (trace, *(beside or ()))
                                if key not in plain_with:
                                    plain_with[key] = plain[trace] if not beside else call(*words, *beside)
                                without = plain_with[key]
                                if without[0] == 2:
                                    continue
                                got = call(*extra, *beside)
                                outcomes += 1
                                tried += 1
                                if got[0] == 2:
                                    refusals += 1
                                    refused += 1
                                    self.assertEqual(got[1], b"", extra)
                                    self.assertNotEqual(got[2], "", extra)
                                elif got[1:] != without[1:] or name in NO_OUTPUT or name == "--output":
                                    effect = True
                    # uftrace takes -t for its dump and leaves nothing out by it.
                    if (command, form, name) == ("dump", "uftrace", "--min-duration"):
                        effect = True
                    # No count of these traces has four digits, and their times have units.
                    if name == "--thousands" and form in ("XRay", "uftrace"):
                        effect = True
                    # An option that is not always refused has to matter somewhere.
                    if outcomes != refusals and not effect:
                        silent.append((command, form, name))
        print(f"{tried} tried, {refused} refused")
        self.assertEqual(silent, [])
        self.assertGreater(refused, 100)


class Several(unittest.TestCase):
    """The commands over calls on several traces: every option of one has an effect on two, or is refused."""

    def test_options_of_several_traces(self):
        silent, tried, refused = [], 0, 0
        pairs = {"XRay": TRACES["XRay"][-2:], "uftrace": TRACES["uftrace"][-2:], "memtrace": TRACES["memtrace"][:2],
                 "perf.data": [TRACES["perf.data"][1]] * 2}
        having = commands()
        for command in ("report", "stacks", "graph", "calls", "export"):
            for form, traces in pairs.items():
                if form not in having[command]:
                    continue
                words = [command, *traces] + (["--to", "folded"] if command == "export" else [])
                plain = call(*words)
                self.assertNotEqual(plain[0], 2, (words, plain[2]))
                for name, (takes_value, values) in options(command).items():
                    if name in ("--output", "--index", "--to"):
                        continue
                    outcomes, effect = 0, False
                    for value in [[]] if not takes_value else [[one] for one in values or VALUES.get(name) or ["1"]]:
                        got = call(*words, name, *value, *BESIDE.get(name, []))
                        tried += 1
                        if got[0] == 2:
                            refused += 1
                            self.assertEqual(got[1], b"", (words, name, value))
                            continue
                        outcomes += 1
                        effect = effect or got[1:] != plain[1:] or name in NO_OUTPUT
                    if name == "--thousands" and form in ("XRay", "uftrace"):
                        continue
                    if outcomes != 0 and not effect:
                        silent.append((command, form, name))
        print(f"{tried} tried, {refused} refused")
        self.assertEqual(silent, [])
        self.assertGreater(refused, 30)


class Unwind(unittest.TestCase):
    """`backsight unwind` with each of its inputs: every option has an effect, or is refused."""

    def test_options_of_unwind(self):
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        samples = os.path.join(folder, "samples")
        elves = os.path.join(folder, "elves")
        os.mkdir(elves)
        shutil.copy(os.path.join(DATA, CFI_ELF), os.path.join(elves, BUILD_ID + ".elf"))
        with open(samples, "wb") as file:
            file.write(made_traces.stack_samples([bytes(64)] * 5, BUILD_ID))
        root = "perf/root"
        inputs = {
            "core file": (["core/tree.core", "--sysroot", root], ["core/tree.core"]),
            "stack samples": ([samples, "--elf-dir", elves],),
        }
        if shutil.which("zstd") is None:
            print("without the program zstd there is no recording of perf to unwind")
        else:
            recording = os.path.join(folder, "perf.data")
            subprocess.run(["zstd", "-dq", os.path.join(DATA, "perf/tree-dwarf/perf.data.zst"), "-o", recording], check=True)
            inputs["perf.data"] = ([recording, "--sysroot", root], [recording])
        values = {"--sysroot": [root], "--jobs": ["2"], "--max-stack": ["2"], "--elf-dir": [elves], "--objects": [elves], "--as": ["perf-script"],
                  "--fields": ["ip"], "--format": ["text", "json", "folded"], "--with": ["table", "compiled"]}
        # What unwinds and with how many threads changes nothing of what is found; --check prints what differs, and here nothing does.
        silent_by_nature = NO_OUTPUT | {"--with", "--check", "--elf-dir", "--objects"}
        silent, refused = [], 0
        known = options("unwind")
        self.assertGreater(len(known), 6)
        for kind, bases in inputs.items():
            for name, (takes_value, listed) in known.items():
                outcomes, effect = 0, False
                for base in bases:
                    if name in base:
                        continue
                    plain = call("unwind", *base)
                    self.assertNotEqual(plain[0], 2, (base, plain[2]))
                    self.assertNotEqual(plain[1], b"", (base, plain[2]))
                    for value in [[]] if not takes_value else [[one] for one in listed or values.get(name, ["never"])]:
                        beside = {"--fields": ["--as", "perf-script"], "--objects": ["--with", "compiled"]}.get(name, [])
                        without = call("unwind", *base, *beside)
                        got = call("unwind", *base, *beside, name, *value)
                        if got[0] == 2:
                            refused += 1
                            self.assertEqual(got[1], b"", (base, name))
                            self.assertNotEqual(got[2], "", (base, name))
                            continue
                        outcomes += 1
                        effect = effect or got != without or name in silent_by_nature
                if outcomes != 0 and not effect:
                    silent.append((kind, name))
        self.assertEqual(silent, [])
        self.assertGreater(refused, 5)


class Words(unittest.TestCase):
    def check(self, words, *said, code=2):
        got = call(*words)
        self.assertEqual((got[0], got[1]), (code, b""), (words, got[2]))
        for one in said:
            self.assertIn(one, got[2], words)

    def test_unknown_words_are_named_with_the_nearest_one(self):
        self.check(["reprot", "x"], "no command reprot", "report")
        self.check(["xyzzy"], "no command xyzzy", "there are")
        self.check(["report", "--frmat", "json", TRACES["XRay"][0]], "no option --frmat", "--format")
        self.check(["report", "--fitler=x", TRACES["XRay"][0]], "no option --fitler", "--filter")
        self.check(["report", "-Z", TRACES["XRay"][0]], "no option -Z")
        self.check(["--verison"], "no option --verison", "--version")
        self.check(["cfi", "tabel", "x"], "no command tabel", "table")

    def test_bad_numbers_and_units_are_refused(self):
        trace = TRACES["uftrace"][0]
        for words in (["-t", "5xx"], ["-t", "-5us"], ["-t", "us"], ["-t", "99999999999h"], ["-D", "abc"], ["-D", "-1"], ["--limit", "-1"],
                      ["--limit", "x"], ["--limit", "1.5"], ["-j", "0"], ["-r", "5us"], ["-r", "5parsecs~"], ["-r", "9us~3us"],
                      ["--sort", "colour"]):
            self.check(["report", *words, trace])

    def test_options_without_effect_name_what_applies(self):
        self.check(["report", "--by", "module", "xray_profile/threads.xray"], "--by has no effect on report of an XRay profile", "--sort")
        self.check(["dump", "--hex", "--format", "csv", TRACES["XRay"][0]], "--format has no effect beside --hex")
        self.check(["export", "--to", "yaml", TRACES["memtrace"][0]], "no --to yaml", "folded")
        self.check(["report", "--deduce-calls", TRACES["XRay"][0]], "--deduce-calls has no effect", "without --as")

    def test_patterns_take_one_word_each(self):
        trace = TRACES["uftrace"][0]
        one = call("report", trace, "-F", "main", "-F", "fib")
        self.assertEqual(call("report", "-F", "main", "-F", "fib", trace), one)
        self.assertEqual(one[0], 0)


class Inputs(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def file(self, name, content):
        path = os.path.join(self.folder, name)
        with open(path, "wb") as file:
            file.write(content)
        return path

    def check(self, path, *said):
        for command in ("info", "report"):
            code, out, err = call(command, path)
            self.assertEqual((code, out), (1, b""), err)
            for one in said:
                self.assertIn(one, err)

    def test_inputs_are_told_by_kind(self):
        with open(os.path.join(DATA, TRACES["XRay"][0]), "rb") as file:
            log = file.read()
        import gzip
        self.check(self.file("empty", b""), "an empty file")
        self.check(self.file("log.gz", gzip.compress(log)), "packed with gzip", "zcat")
        self.check(self.file("log.zst", b"\x28\xb5\x2f\xfd" + log), "packed with zstd", "zstdcat")
        self.check(ELF, "an ELF file", "cfi")
        self.check(self.file("samples", b"STKSMP01" + bytes(64)), "stack samples", "backsight unwind")
        self.check(self.file("table", b"BSUWNTAB" + bytes(64)), "unwind table", "backsight cfi")
        self.check(self.file("index", b"BSWINDEX" + bytes(64)), "index of windows", "windows --index")
        self.check(self.file("times", b"BSUFTIME" + bytes(64)), "index of times", "--index")
        self.check(self.file("chrome", b"{\"traceEvents\":[]}"), "JSON", "export")

    def test_folders_above_and_files_within_a_directory_name_the_one_to_give(self):
        self.check("uftrace/single-pg", "a uftrace directory", "uftrace/single-pg/uftrace.data")
        self.check("uftrace", "a uftrace directory", "or another of")
        self.check("uftrace/single-pg/uftrace.data/task.txt", "give the folder, uftrace/single-pg/uftrace.data")
        self.check("xray", "neither this folder")

    def test_a_raw_memtrace_is_told_where_a_final_one_is_needed(self):
        for command in ("report", "view", "stacks"):
            code, out, err = call(command, TRACES["raw memtrace"][0])
            self.assertEqual((code, out), (2, b""))
            self.assertIn("raw memtrace", err)
            self.assertIn("final trace", err)
            self.assertIn("counts", err)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
