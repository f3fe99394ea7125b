# SPDX-License-Identifier: Apache-2.0
# Stands for elf/lay_out.hpp
"""Checks the commands `backsight cfi` and `backsight unwind` from outside: object files, files without section headers, damage.

    cfi_test.py PROGRAM DATA
"""
import gzip
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True  # Nothing is written beside the tests.
import made_traces

PROGRAM, DATA = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
ELF, OBJECT, TWO = "cfi/elf/gcc-O2", "cfi/objects/x86_64.eh_frame.o", "cfi/objects/two-sections.o"
BUILD_ID = "11" * 20


def run(*words, code=0, folder=DATA):
    done = subprocess.run([PROGRAM, *words], capture_output=True, cwd=folder)
    if done.returncode != code:
        raise AssertionError(f"{words} ends with {done.returncode}: {done.stderr.decode()}")
    return done.stdout.decode("utf-8", "surrogateescape"), done.stderr.decode()


def content(name):
    with open(os.path.join(DATA, name), "rb") as file:
        return file.read()


class Files(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def write(self, name, data):
        path = os.path.join(self.folder.name, name)
        with open(path, "wb") as file:
            file.write(data)
        return path


class SFrame(Files):
    """Linked files as objdump of the same binutils prints them; objects differ, where old objdumps apply no relocations."""

    @staticmethod
    def lines(text):
        return [line.rstrip() for line in text.strip("\n").split("\n")]

    def compare(self, folder):
        count = 0
        for name in sorted(os.listdir(os.path.join(folder, "elf"))):
            expected = os.path.join(folder, "expected", name + ".objdump")
            if name.endswith(".o") and ".v3" not in name or not os.path.exists(expected):
                continue
            with self.subTest(name):
                # Functions that overlap are told, and shown as objdump does.
                done = subprocess.run([PROGRAM, "cfi", "sframe", os.path.join(folder, "elf", name)], capture_output=True)
                self.assertEqual(done.returncode, 1 if b"functions-overlap" in done.stderr else 0, done.stderr)
                with open(expected, encoding="utf-8") as text:
                    self.assertEqual(self.lines(done.stdout.decode()), self.lines(text.read()))
                count += 1
        return count

    def test_files_are_shown_as_objdump_does(self):
        self.assertGreaterEqual(self.compare(os.path.join(DATA, "cfi/sframe")), 8)

    def test_files_of_the_corpus_are_shown_as_objdump_does(self):
        corpus = os.path.join(os.environ.get("BACKSIGHT_CORPUS", ""), "sframe")
        if not os.path.isdir(corpus):
            self.skipTest("BACKSIGHT_CORPUS is not set or has no sframe")
        self.assertGreater(self.compare(corpus), 90)

    def test_broken_sections_are_told_where_and_how(self):
        for name, kind, offset in (("bad-magic", "magic", 0), ("bad-word-size-v3", "word-size", 0x5d),
                                   ("bad-functions-overlap-v1", "functions-overlap", 0x2d)):
            path = "cfi/sframe/synth/" + name
            elf = content(path)
            done = subprocess.run([PROGRAM, "cfi", "sframe", path], capture_output=True, cwd=DATA)
            self.assertEqual(done.returncode, 1)
            self.assertEqual(done.stdout == b"", name == "bad-magic")
            found = re.search(rf"^(?:backsight: )?.*{name}:(0x[0-9a-f]+|[0-9]+): .*{kind}", done.stderr.decode(), re.MULTILINE)
            self.assertIsNotNone(found, done.stderr)
            magic = b"\xe3\xde" if name == "bad-magic" else b"\xe2\xde"
            self.assertEqual(int(found[1], 0), elf.index(magic) + offset)
        run("cfi", "sframe", ELF, code=1)

    def compare_with_eh_frame(self, folder):
        """All files of a folder against its differences.tsv; gives their number and that of the differences."""
        with open(os.path.join(folder, "differences.tsv"), encoding="utf-8") as text:
            head, *expected = text.read().splitlines()
        names = sorted(os.listdir(os.path.join(folder, "elf")))
        for name in names:
            of_file = [line for line in expected if line.split("\t")[0] == name]
            with self.subTest(name):
                done = subprocess.run([PROGRAM, "cfi", "sframe", "--check", name], capture_output=True,
                                      cwd=os.path.join(folder, "elf"))
                self.assertEqual(done.stdout.decode().splitlines(), [head, *of_file])
                self.assertEqual(done.returncode, 1 if of_file or done.stderr else 0, done.stderr)
        return len(names), len(expected)

    def test_what_sframe_and_eh_frame_differ_in(self):
        files, differences = self.compare_with_eh_frame(os.path.join(DATA, "cfi/sframe"))
        self.assertGreaterEqual(files, 8)
        self.assertGreaterEqual(differences, 6)

    def test_what_files_of_the_corpus_differ_in(self):
        corpus = os.path.join(os.environ.get("BACKSIGHT_CORPUS", ""), "sframe")
        if not os.path.isdir(corpus):
            self.skipTest("BACKSIGHT_CORPUS is not set or has no sframe")
        files, differences = self.compare_with_eh_frame(corpus)
        self.assertGreater(files, 100)
        self.assertGreater(differences, 200)

    def test_a_changed_offset_is_found(self):
        """A row's CFA offset, a signal mark and a whole function that .sframe has no more."""
        name = "cfi/sframe/elf/basic-x86_64.v3.o"
        out, _ = run("cfi", "sframe", "--check", name)
        self.assertEqual(out.count("\n"), 1)
        elf = bytearray(content(name))
        at = elf.index(b"\xe2\xde")
        functions, rows_at = struct.unpack_from("<I", elf, at + 8)[0], struct.unpack_from("<I", elf, at + 24)[0]
        for index in range(functions):
            rows = at + 28 + rows_at + struct.unpack_from("<I", elf, at + 28 + 16 * index + 12)[0]
            if elf[rows + 6] & 0x1e != 0:  # The words of the first row: none are the outermost frame.
                break
        for offset, change, kind in ((rows + 5 + 2, 8, "differ"), (rows + 2, 0x80, "signal-added")):
            changed = bytearray(elf)
            changed[offset] ^= change
            out, _ = run("cfi", "sframe", "--check", self.write("changed.o", bytes(changed)), code=1)
            self.assertEqual([line.split("\t")[3] for line in out.splitlines()[1:]], [kind])
        changed = bytearray(elf)
        changed[rows + 3] = 31
        out, err = run("cfi", "sframe", "--check", self.write("changed.o", bytes(changed)), code=1)
        self.assertEqual([line.split("\t")[3] for line in out.splitlines()[1:]], ["only-eh"])
        self.assertIn("fde-type", err)

    def write_all(self, folder, objdump=None):
        """Writes .sframe for all linked files of a folder, which then says what .eh_frame says; gives their number."""
        count, written = 0, os.path.join(self.folder.name, "written")
        for name in sorted(os.listdir(folder)):
            if name.endswith(".o"):
                continue
            with self.subTest(name):
                _, err = run("cfi", "sframe", "--write", os.path.join(folder, name), "-o", written)
                left_out = sum(int(line.split()[0]) for line in err.splitlines()[1:])
                done = subprocess.run([PROGRAM, "cfi", "sframe", "--check", written], capture_output=True)
                lines = [line.split("\t") for line in done.stdout.decode().splitlines()[1:]]
                # Where .eh_frame has no CFA at first, SFrame has no row at first.
                kinds = [line[3] for line in lines if line[3] != "differ" or not re.match(r"0x0\.\.0x[0-9a-f]+ \? ", line[5])]
                self.assertEqual(kinds, ["only-eh"] * left_out)
                self.assertEqual(done.stderr, b"")
                if objdump:
                    shown = subprocess.run([objdump, "--sframe=.sframe", written], capture_output=True, check=True)
                    text = shown.stdout.decode()
                    out, _ = run("cfi", "sframe", written)
                    self.assertEqual(self.lines(text[text.index("  Header :"):]), self.lines(out))
                count += 1
        return count

    def test_what_is_written_says_what_eh_frame_says(self):
        self.assertGreaterEqual(self.write_all(os.path.join(DATA, "cfi/sframe/elf")), 8)
        run("cfi", "sframe", "--write", "cfi/sframe/elf/basic-x86_64.v3.o", "-o", os.path.join(self.folder.name, "o"), code=1)
        run("cfi", "sframe", "--write", ELF, code=2)
        run("cfi", "sframe", "--write", "--check", ELF, "-o", os.path.join(self.folder.name, "o"), code=2)

    def test_what_is_written_of_the_corpus_says_what_eh_frame_says(self):
        corpus = os.path.join(os.environ.get("BACKSIGHT_CORPUS", ""), "sframe/elf")
        if not os.path.isdir(corpus):
            self.skipTest("BACKSIGHT_CORPUS is not set or has no sframe")
        self.assertGreater(self.write_all(corpus), 70)

    def test_objdump_shows_what_is_written(self):
        """binutils 2.46 or newer, of the machine or named by BACKSIGHT_OBJDUMP."""
        objdump = os.environ.get("BACKSIGHT_OBJDUMP", "objdump")
        try:
            version = subprocess.run([objdump, "--version"], capture_output=True, text=True).stdout.split("\n")[0]
        except OSError:
            self.skipTest(f"there is no {objdump}")
        found = re.search(r"(\d+)\.(\d+)", version.rsplit(" ", 1)[-1])
        if not found or (int(found[1]), int(found[2])) < (2, 46):
            self.skipTest(f"{version} does not know version 3")
        folder = os.path.join(os.environ.get("BACKSIGHT_CORPUS", ""), "sframe/elf")
        if not os.path.isdir(folder):
            folder = os.path.join(DATA, "cfi/sframe/elf")
        self.assertGreaterEqual(self.write_all(folder, objdump), 8)

    def test_several_files_are_for_check(self):
        name = "cfi/sframe/elf/basic-x86_64.v3"
        _, err = run("cfi", "sframe", name, name, code=2)
        self.assertIn("--check", err)
        out, _ = run("cfi", "sframe", "--check", name, name)
        self.assertEqual(out.count("\n"), 1)
        run("cfi", "sframe", "--check", name, "absent", code=1)


class ObjectFiles(Files):
    def test_rows_are_those_of_other_tools(self):
        names = [name[:-5] for name in os.listdir(os.path.join(DATA, "cfi/objects")) if name.endswith(".rows")]
        self.assertEqual(len(names), 16)
        for name in names:
            with self.subTest(name=name):
                out, err = run("cfi", "rows", f"cfi/objects/{name}.o", "--section", "." + name.rsplit(".", 1)[1])
                self.assertEqual(out, content(f"cfi/objects/{name}.rows").decode())
                self.assertEqual(err, "")

    def test_lookup_table_and_emitted_code_have_the_rows(self):
        table = os.path.join(self.folder.name, "table")
        for name in ("x86_64.eh_frame", "x86_64.debug_frame", "x86_64-large.eh_frame", "i386.debug_frame", "aarch64.eh_frame",
                     "arm.debug_frame", "riscv64.eh_frame", "riscv64-relax.debug_frame"):
            with self.subTest(name=name):
                rows = [line.split(" ", 1) for line in content(f"cfi/objects/{name}.rows").decode().splitlines()
                        if not line.startswith("fde")]
                addresses = [row[0] for row in rows]
                out, err = run("cfi", "lookup", f"cfi/objects/{name}.o", *addresses)
                self.assertEqual([line.split(" ", 1) for line in out.splitlines()], rows)
                self.assertEqual(err, "")
                run("cfi", "table", f"cfi/objects/{name}.o", "-o", table, "--profile", "all")
                self.assertEqual(run("cfi", "lookup", table, *addresses)[0], out)
                self.assertIn("backsight_step", run("cfi", "emit-c", f"cfi/objects/{name}.o")[0])
                self.assertIn("entries in error                                0\n", run("cfi", "stats", f"cfi/objects/{name}.o")[0])

    def test_of_several_sections_of_code_one_is_meant(self):
        out, err = run("cfi", "lookup", TWO, "1", "9", "a")
        self.assertEqual(out, "1 cfa=r7+24 r16=c-8\n9 cfa=r7+24 r16=c-8\na none\n")
        self.assertIn("1 functions of other sections than .text are left out", err)
        self.assertEqual(run("cfi", "lookup", TWO, "1", "a", "--code", ".init.text"),
                         ("1 cfa=r7+8 r16=c-8\na cfa=r7+40 r16=c-8\n", ""))
        self.assertEqual(run("cfi", "rows", TWO)[0].count("fde"), 2)
        self.assertEqual(run("cfi", "rows", TWO, "--code", ".text")[0].count("fde"), 1)
        self.assertIn(".text .init.text", run("cfi", "table", TWO, "-o", "-", "--code", ".data", code=2)[1])
        self.assertIn("object files", run("cfi", "lookup", ELF, "1290", "--code", ".text", code=2)[1])
        self.assertNotEqual(run("cfi", "emit-c", TWO)[0], run("cfi", "emit-c", TWO, "--code", ".init.text")[0])

    def test_a_relocation_of_another_kind_is_refused_with_type_and_offset(self):
        data = bytearray(content(TWO))
        offset = 0x120  # Of .rela.eh_frame.
        self.assertEqual(struct.unpack_from("<I", data, offset + 8)[0], 2)
        data[offset + 8] = 42
        path = self.write("other.o", data)
        for words in (["rows", path], ["lookup", path, "1"], ["table", path, "-o", "-"], ["emit-c", path], ["stats", path]):
            with self.subTest(words=words):
                err = run("cfi", *words, code=1)[1]
                self.assertEqual(err.splitlines()[0], f"{path}:{offset}: a relocation of a kind that is not supported: type 42")


class PagesForBpf(Files):
    def test_a_file_is_written_in_whole_pages_with_its_rows_counted(self):
        out = os.path.join(self.folder.name, "pages")
        said = run("cfi", "table", ELF, "--form", "bpf", "-o", out)
        self.assertRegex(said[1], r"^1 pages of 4096 bytes, \d+ rows, 0 rules that need expressions\n$")
        pages = content(out)
        self.assertEqual((len(pages), pages[:8]), (4096, b"BFPAGES1"))
        self.assertEqual(struct.unpack_from("<HHI", pages, 8), (1, 62, 1))
        self.assertEqual(run("cfi", "table", ELF, "--form", "bpf", "-o", "-")[0].encode("utf-8", "surrogateescape"), pages)

    def test_what_has_no_such_form_is_said(self):
        out = os.path.join(self.folder.name, "pages")
        self.assertIn("pages for BPF are for x86-64", run("cfi", "table", "cfi/elf/a64-O2", "--form", "bpf", "-o", out, code=1)[1])
        self.assertIn("--profile all does not apply to --form bpf",
                      run("cfi", "table", ELF, "--form", "bpf", "--profile", "all", "-o", out, code=2)[1])
        self.assertFalse(os.path.exists(out))


class WithoutSectionHeaders(Files):
    def bare(self):
        data = bytearray(content(ELF))
        struct.pack_into("<Q", data, 40, 0)
        struct.pack_into("<HH", data, 60, 0, 0)
        return data

    def test_every_command_gives_what_it_gives_with_them(self):
        path = self.write("bare", self.bare())
        self.assertEqual(run("cfi", "rows", path), run("cfi", "rows", ELF))
        self.assertEqual(run("cfi", "rows", path, "--merged"), run("cfi", "rows", ELF, "--merged"))
        self.assertEqual(run("cfi", "lookup", path, "1290", "12c0", "1020"), run("cfi", "lookup", ELF, "1290", "12c0", "1020"))
        self.assertEqual(run("cfi", "emit-c", path), run("cfi", "emit-c", ELF))
        # Without headers nothing tells where the section ends, so that its fingerprint and the checksum are others.
        tables = [run("cfi", "table", name, "-o", "-")[0].encode(errors="surrogateescape") for name in (path, ELF)]
        self.assertGreater(len(tables[0]), 128)
        self.assertEqual(*[(table[:24], table[48:]) for table in tables])
        counts = [line for line in run("cfi", "stats", path)[0].splitlines() if line.startswith(("rows", "FDEs", "CIEs"))]
        for line in counts:
            self.assertIn(line + "\n", run("cfi", "stats", ELF)[0])

    def test_without_a_search_table_the_section_is_read(self):
        data = self.bare()
        at = next(struct.unpack_from("<Q", data, 64 + 56 * i + 8)[0] for i in range(struct.unpack_from("<H", data, 56)[0])
                  if struct.unpack_from("<I", data, 64 + 56 * i)[0] == 0x6474e550)
        for encodings in (b"\x1b\xff\xff", b"\x1b\x03\xff", b"\x1b\xff\x3b"):
            data[at + 1:at + 4] = encodings
            self.assertEqual(run("cfi", "rows", self.write("bare", data)), run("cfi", "rows", ELF))

    def test_a_file_that_was_cut_is_read_and_named(self):
        path = self.write("cut", content(ELF)[:-100])
        out, err = run("cfi", "rows", path, code=1)
        self.assertIn("unexpected end of the data", err)


class Damage(Files):
    BAD = ["bad-opcode", "bad-restore-empty", "bad-length-past-end", "bad-cie-version", "bad-block-past-end", "bad-cie-pointer",
           "bad-fde-short", "bad-aug-short"]

    def test_every_command_ends_with_1_and_says_what_is_left_out(self):
        for name in self.BAD:
            path = f"cfi/synth/{name}"
            for words in (["rows", path], ["lookup", path, "401000"], ["table", path, "-o", os.path.join(self.folder.name, "t")],
                          ["stats", path], ["emit-c", path], ["compile", path, "-o", self.folder.name]):
                with self.subTest(words=words):
                    err = run("cfi", *words, code=1)[1]
                    self.assertRegex(err, rf"^{re.escape(path)}:\d+: .*in the section")

    def test_what_is_whole_is_there_all_the_same(self):
        path = "cfi/synth/bad-opcode"
        rows = [line for line in run("cfi", "rows", path, code=1)[0].splitlines() if not line.startswith("fde")]
        self.assertNotEqual(rows, [])
        out = run("cfi", "lookup", path, rows[0].split()[0], code=1)[0]
        self.assertEqual(out, rows[0] + "\n")
        table = os.path.join(self.folder.name, "table")
        run("cfi", "table", path, "-o", table, "--profile", "all", code=1)
        self.assertEqual(run("cfi", "lookup", table, rows[0].split()[0])[0], out)

    def test_good_files_end_with_0_and_say_nothing(self):
        for words in (["rows", ELF], ["lookup", ELF, "1290"], ["stats", ELF], ["emit-c", ELF]):
            self.assertEqual(run("cfi", *words)[1], "")


def samples_file(stacks):
    return made_traces.stack_samples(stacks, BUILD_ID)


class Unwind(Files):
    def setUp(self):
        super().setUp()
        self.samples = samples_file([bytes(64)] * 5)
        os.mkdir(os.path.join(self.folder.name, "elf"))
        self.write(f"elf/{BUILD_ID}.elf", content(ELF))
        self.elves = os.path.join(self.folder.name, "elf")

    def test_a_folder_that_is_not_there_is_wrong_usage_and_an_empty_one_an_error(self):
        path = self.write("all", self.samples)
        self.assertEqual(run("unwind", path, "--elf-dir", self.elves)[0].count("sample "), 5)
        for wrong in (os.path.join(self.folder.name, "none"), path):
            out, err = run("unwind", path, "--elf-dir", wrong, code=2)
            self.assertEqual(out, "")
            self.assertIn("is not a folder", err)
        empty = os.path.join(self.folder.name, "empty")
        os.mkdir(empty)
        out, err = run("unwind", path, "--elf-dir", empty, code=1)
        self.assertEqual(out, "")
        self.assertIn("none of the files", err)

    def test_of_a_file_cut_anywhere_the_samples_before_that_are_walked(self):
        first = len(samples_file([]))
        size = (len(self.samples) - first) // 5
        every = run("unwind", self.write("all", self.samples), "--elf-dir", self.elves)[0].split("\n\n")
        self.assertEqual(len(every), 5)
        for cut in (1, 40, size - 1, size, size + 1, 3 * size + 7, 5 * size - 1):
            with self.subTest(cut=cut):
                path = self.write("cut", self.samples[:first + cut])
                out, err = run("unwind", path, "--elf-dir", self.elves, code=1)
                self.assertEqual([one.strip() for one in out.split("\n\n") if one], [one.strip() for one in every[:cut // size]])
                # Where the file ends, or the number that is cut begins.
                place = first + (cut if cut % size >= 4 else cut // size * size)
                self.assertRegex(err, rf"^{re.escape(path)}:{place}: unexpected end")

    def test_frames_have_symbol_module_offset_and_how_they_were_found(self):
        # The word above the stack pointer is what the table says the return address is.
        stack = struct.pack("<8Q", *[0x4012c0] * 8)
        path = self.write("one", samples_file([stack, stack]))
        text = run("unwind", path, "--elf-dir", self.elves)[0]
        first, second = text.split("\n\n")
        frames = first.splitlines()
        self.assertEqual(frames[0], "sample 0 thread 1")
        self.assertEqual(second.splitlines()[0], "sample 1 thread 1")
        self.assertRegex(frames[1], r"^  #0   0000000000401290 \S+ in /bin/it\+0x1290 \(registers\)$")
        self.assertRegex(frames[2], r"^  #1   00000000004012c0 \S+ in /bin/it\+0x12c0 \(unwind table\)$")
        told = [json.loads(line) for line in run("unwind", path, "--elf-dir", self.elves, "--format", "json")[0].splitlines()]
        self.assertEqual([(one["sample"], one["thread"], one["time_ns"]) for one in told], [(0, 1, 0), (1, 1, 0)])
        self.assertEqual([frame["pc"] for frame in told[0]["frames"]], ["0x" + line.split()[1].lstrip("0") for line in frames[1:] if "#" in line])
        self.assertEqual((told[0]["frames"][1]["module"], told[0]["frames"][1]["module_offset"], told[0]["frames"][1]["found_by"]),
                         ("/bin/it", 0x12c0, "unwind table"))
        folded = run("unwind", path, "--elf-dir", self.elves, "--format", "folded")[0]
        names = [frame.get("function", "[it]") if "module" in frame else "[unknown]" for frame in told[0]["frames"]]
        self.assertEqual(folded, ";".join(reversed(names)) + " 2\n")
        self.assertIn("--format has no effect beside --check",
                      run("unwind", path, "--elf-dir", self.elves, "--format", "json", "--check", code=2)[1])

    def test_what_is_no_input_for_it_is_told_by_kind(self):
        for command in (["unwind"], ["cfi", "rows"], ["cfi", "stats"], ["cfi", "lookup"]):
            more = ["401000"] if command[-1] == "lookup" else []
            for data, said in ((gzip.compress(bytes(range(256))), "packed with gzip"), (b"BSWINDEX" + bytes(64), "index of windows"),
                               (content("xray/c19/fdr-threads.xray"), "it is an XRay log: `backsight info` shows it")):
                out, err = run(*command, self.write("input", data), *more, code=1)
                self.assertEqual(out, "")
                self.assertIn("not a file of this format: ", err)
                self.assertIn(said, err)
        self.assertIn("it is an ELF file", run("unwind", ELF, code=1)[1])
        self.assertIn("it is a file of stack samples", run("cfi", "rows", self.write("all", self.samples), code=1)[1])
        self.assertIn("it is a uftrace directory", run("unwind", "uftrace/single-pg/uftrace.data", code=1)[1])
        self.assertIn("it is an empty file", run("unwind", self.write("empty", b""), code=1)[1])

    def test_a_sample_that_reaches_beyond_its_record_is_an_error(self):
        data = bytearray(self.samples)
        first = len(samples_file([]))
        size = (len(data) - first) // 5
        struct.pack_into("<I", data, first + 2 * size + 16, 65)  # Bytes of stack.
        out, err = run("unwind", self.write("long", data), "--elf-dir", self.elves, code=1)
        self.assertEqual(out.count("sample "), 2)
        self.assertRegex(err, rf":{first + 3 * size - 64}: ")

    def test_a_damaged_file_is_named(self):
        self.write(f"elf/{BUILD_ID}.elf", content("cfi/synth/bad-opcode"))
        err = run("unwind", self.write("all", self.samples), "--elf-dir", self.elves, code=1)[1]
        self.assertRegex(err, rf"{BUILD_ID}.elf:\d+: unknown kind of record")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
