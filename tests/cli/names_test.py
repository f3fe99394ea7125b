# SPDX-License-Identifier: Apache-2.0
"""Names that a few bytes make grow are shown mangled, and cost no memory to speak of.

    names_test.py PROGRAM DATA
"""
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

PROGRAM, DATA = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
RECORDING = "uftrace/single-pg/uftrace.data"
LOG, ELF = "xray/c19/fdr-args.xray", "xray/bin/workload-19"


def run(*words, cwd=DATA):
    done = subprocess.run([PROGRAM, *words], capture_output=True, cwd=cwd)
    return done.returncode, done.stdout, done.stderr


def recording_with(folder, name):
    """A uftrace directory whose main function has that name."""
    path = os.path.join(folder, "recording")
    shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(os.path.join(DATA, RECORDING), path)
    symbols = os.path.join(path, "single-pg.sym")
    os.chmod(symbols, 0o644)
    with open(symbols) as text:
        lines = [line.rsplit(" ", 1)[0] + " " + name if line.endswith(" T main\n") else line.rstrip("\n") for line in text]
    with open(symbols, "w") as text:
        text.write("\n".join(lines) + "\n")
    return path


def program_with(folder, name):
    """The instrumented program, all of whose functions have that name."""
    with open(os.path.join(DATA, ELF), "rb") as file:
        image = bytearray(file.read())
    section_offset, = struct.unpack_from("<Q", image, 40)
    entry_size, count, _ = struct.unpack_from("<HHH", image, 58)
    sections = [list(struct.unpack_from("<IIQQQQIIQQ", image, section_offset + i * entry_size)) for i in range(count)]
    symbols = next(s for s in sections if s[1] == 2)
    link, strings = symbols[6], sections[symbols[6]]
    old = bytes(image[strings[4]:strings[4] + strings[5]])
    new = old + name.encode() + b"\0"
    strings[4], strings[5] = len(image), len(new)
    image += new
    struct.pack_into("<IIQQQQIIQQ", image, section_offset + link * entry_size, *strings)
    for at in range(symbols[4], symbols[4] + symbols[5], 24):
        if image[at + 4] & 15 == 2:
            struct.pack_into("<I", image, at, len(old))
    path = os.path.join(folder, "program")
    with open(path, "wb") as file:
        file.write(image)
    return path


def substitution(index):
    if index == 0:
        return "S_"
    digits, text, index = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", "", index - 1
    while True:
        text, index = digits[index % 36] + text, index // 36
        if index == 0:
            return "S" + text + "_"


def doubling(times):
    return "_Z1f1AIiiE" + "".join("S_I" + 2 * substitution(i + 1) + "E" for i in range(times))


class Names(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def uftrace(self, name):
        code, out, err = run("report", recording_with(self.folder, name))
        self.assertEqual((code, err), (0, b""))
        return out.decode()

    def xray(self, name):
        code, out, err = run("report", LOG, "--symbols", program_with(self.folder, name), "--format", "csv")
        self.assertEqual((code, err), (0, b""))
        return out.decode()

    def test_a_name_is_shown_short_where_uftrace_does(self):
        self.assertIn("shop::show::cxx11", self.uftrace("_ZN4shop4showB5cxx11ERKNS_4itemE"))

    def test_constructors_and_destructors_of_constructors_stay_mangled(self):
        for name in ("_ZN30000" + "a" * 30000 + "C1" * 15000 + "Ev", "_ZN1a" + "D1" * 100000 + "Ev"):
            out = self.uftrace(name)
            self.assertIn(name, out)
            self.assertLess(len(out), 4 * len(name))

    def test_references_that_double_stay_mangled(self):
        name = doubling(60)
        self.assertIn("f", self.uftrace(name))
        self.assertNotIn(name, self.uftrace(name))  # what uftrace shows has no parameters
        for times in (25, 60):
            self.assertIn(doubling(times), self.xray(doubling(times)))
        self.assertIn("f(A<int, int>, A<A<int, int>, A<int, int>>", self.xray(doubling(3)))

    def test_long_and_deep_names_stay_as_they_are(self):
        for name in ("> " * 20000, "_Z1f" + "P" * 20000 + "i", "_Z1fI" + "1AI" * 20000 + "i" + "E" * 20001 + "vv"):
            self.assertLess(len(self.xray(name)), 50 * len(name))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
