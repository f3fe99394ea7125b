# SPDX-License-Identifier: Apache-2.0
"""`backsight unwind` of core files, from outside: a small one that is kept, damaged ones, and where gcc, gdb and eu-stack are there
those of a program with threads, a shared library and a signal handler, whose frames are compared with eu-stack's.

    core_test.py PROGRAM DATA
"""
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

PROGRAM, DATA = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
CORE, ROOT = os.path.join(DATA, "core/tree.core"), os.path.join(DATA, "perf/root")
TREE = os.path.join(ROOT, "opt/app/tree")


def run(*words, timeout=60):
    done = subprocess.run([PROGRAM, *words], capture_output=True, timeout=timeout)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def read(path):
    with open(path, "rb") as file:
        return file.read()


class Kept(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def write(self, name, data):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data)
        return path

    def test_text(self):
        expected = read(os.path.join(DATA, "core/tree.txt")).decode()
        self.assertEqual(run("unwind", CORE, "--sysroot", ROOT), (0, expected, ""))

    def test_folded_and_json(self):
        names = ["_start", "run", "down", "down", "down", "down", "down", "leaf", "spin"]
        self.assertEqual(run("unwind", CORE, "--sysroot", ROOT, "--format", "folded"), (0, ";".join(names) + " 1\n", ""))
        code, out, _ = run("unwind", CORE, "--sysroot", ROOT, "--format", "json")
        thread = json.loads(out)
        self.assertEqual((code, thread["thread"], thread["signal"], thread["end"]), (0, 23110, 6, "outermost frame"))
        self.assertEqual([frame["function"] for frame in thread["frames"]], names[::-1])
        self.assertEqual({frame["module"] for frame in thread["frames"]}, {"/opt/app/tree"})
        self.assertEqual([frame["found_by"] for frame in thread["frames"]], ["registers"] + ["unwind table"] * 8)

    def test_a_limit_of_frames_is_told(self):
        code, out, _ = run("unwind", CORE, "--sysroot", ROOT, "--max-stack", "3")
        self.assertEqual((code, out.count("  #")), (0, 3))
        self.assertIn("(too many frames)", out)

    def test_by_build_id(self):
        """A folder of files named by build id serves as for stack samples; the id is in the first page of the file in memory."""
        note = read(TREE).index(b"GNU\0")
        name = read(TREE)[note + 4:note + 24].hex() + ".elf"
        self.write(name, read(TREE))
        self.assertEqual(run("unwind", CORE, "--elf-dir", self.folder)[1], run("unwind", CORE, "--sysroot", ROOT)[1])

    def test_a_wrong_file_is_told_and_not_used(self):
        other = bytearray(read(TREE))
        other[other.index(b"GNU\0") + 4] ^= 1
        self.write("opt/app/tree", other)
        code, out, err = run("unwind", CORE, "--sysroot", self.folder)
        self.assertEqual(code, 0)
        self.assertIn("it is not used", err)
        self.assertNotIn("spin", out)
        self.assertIn("#0   0000000000401028 ? in /opt/app/tree+0x1028 (registers)", out)
        self.assertIn("(no call frame information at this address)", out)

    def test_a_file_that_cannot_be_checked_is_told(self):
        """The page with the build id is not in the core file."""
        core = bytearray(read(CORE))
        at, size, count = struct.unpack_from("<Q", core, 32)[0], 56, struct.unpack_from("<H", core, 56)[0]
        for i in range(count):
            kind, _, offset, address, _, file_size, _, _ = struct.unpack_from("<IIQQQQQQ", core, at + i * size)
            if kind == 1 and file_size and core[offset:offset + 4] == b"\x7fELF" and address == 0x400000:
                struct.pack_into("<Q", core, at + i * size + 32, 0)
        code, out, err = run("unwind", self.write("core", core), "--sysroot", ROOT)
        self.assertEqual(code, 0)
        self.assertIn("used unchecked", err)
        self.assertIn("down+", out)

    def test_a_cut_file_gives_what_is_there(self):
        whole = read(CORE)
        complete = run("unwind", CORE, "--sysroot", ROOT)[1]
        for size in (20, 63, 64, 500, 1500, 4096, 8192, len(whole) // 2, len(whole) - 1):
            with self.subTest(size=size):
                code, out, err = run("unwind", self.write("core", whole[:size]), "--sysroot", ROOT)
                self.assertEqual(code, 1, err)
                self.assertIn("core", err)
                if size >= 8192:
                    self.assertIn(f":{size}: unexpected end of the data: ", err)
                    self.assertIn("#0   0000000000401028 spin+0x28", out)
                    # Frames are those of the whole, as far as the stack goes.
                    frames = [line for line in out.splitlines() if line.startswith("  #")]
                    self.assertEqual(frames, [line for line in complete.splitlines() if line.startswith("  #")][:len(frames)])

    def test_hostile_files_end_soon(self):
        whole = read(CORE)
        headers, count = struct.unpack_from("<Q", whole, 32)[0], struct.unpack_from("<H", whole, 56)[0]
        made = {"all program headers one after the other": whole[:56] + struct.pack("<H", 0xfffe) + whole[58:]}
        files = whole.index(b"ELIF")
        made["mapped files without end"] = whole[:files + 12] + b"\xff" * 8 + whole[files + 20:]
        same = bytearray(whole)
        loads = [i for i in range(count) if struct.unpack_from("<I", whole, headers + i * 56)[0] == 1]
        for i in loads:
            struct.pack_into("<QQ", same, headers + i * 56 + 16, 0x400000, 0)
            struct.pack_into("<Q", same, headers + i * 56 + 40, 1 << 62)
        made["segments on top of each other"] = bytes(same)
        for name, data in made.items():
            with self.subTest(name):
                code, _, err = run("unwind", self.write("core", data), "--sysroot", ROOT, timeout=10)
                self.assertEqual(code, 1)
                self.assertRegex(err, r"core:\d+: ")

    def test_options_that_do_not_apply(self):
        for words in (["--jobs", "2"], ["--as", "perf-script"], ["--check"], ["--with", "table"]):
            code, out, err = run("unwind", CORE, *words)
            self.assertEqual((code, out), (2, ""))
            self.assertIn("does not apply to a core file", err)
        code, _, err = run("unwind", os.path.join(DATA, "perf/group-read/perf.data"), "--format", "json")
        self.assertEqual(code, 2)
        self.assertIn("--format does not apply to a perf.data recording", err)
        self.assertEqual(run("unwind", CORE, "--sysroot", os.path.join(self.folder, "none"))[0], 2)

    def test_other_commands_say_what_it_is(self):
        code, _, err = run("info", CORE)
        self.assertEqual(code, 1)
        self.assertIn("it is a core file: `backsight unwind` prints the stacks in it", err)

    def test_other_machines_are_told(self):
        core = bytearray(read(CORE))
        struct.pack_into("<H", core, 18, 8)
        code, _, err = run("unwind", self.write("core", core))
        self.assertEqual(code, 1)
        self.assertIn("core:18: unsupported type of file: stacks of this machine are not unwound", err)


LIBRARY = r"""
#include <unistd.h>
__attribute__((noinline)) void lib_wait(volatile int* turn) { while (*turn) usleep(100000); __asm__ volatile(""); }
static __attribute__((noinline)) void lib_hidden(volatile int* turn, int depth) { if (depth == 0) lib_wait(turn); else lib_hidden(turn, depth - 1); __asm__ volatile(""); }
__attribute__((noinline)) void lib_enter(volatile int* turn) { lib_hidden(turn, 3); __asm__ volatile(""); }
"""
MAIN = r"""
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
void lib_enter(volatile int*);
static volatile int turn = 1;
static __attribute__((noinline)) void* in_library(void* a) { lib_enter(&turn); return a; }
static __attribute__((noinline)) int spin(int depth) { int r = depth == 0 ? pause() : spin(depth - 1) + 1; __asm__ volatile(""); return r; }
static void* in_pause(void* a) { spin(5); return a; }
static __attribute__((noinline)) void crash(void) { if (getenv("NO_CODE")) { void (*volatile f)(void) = 0; f(); __asm__ volatile(""); } else abort(); }
static void on_signal(int s) { (void)s; crash(); __asm__ volatile(""); }
static __attribute__((noinline)) void deeper(int n) { if (n == 0) raise(SIGUSR1); else deeper(n - 1); __asm__ volatile(""); }
int main(void) {
  pthread_t a, b;
  signal(SIGUSR1, on_signal);
  pthread_create(&a, 0, in_library, 0);
  pthread_create(&b, 0, in_pause, 0);
  usleep(300000);
  deeper(4);
  return 0;
}
"""


class Made(unittest.TestCase):
    """Core files that gdb writes of a program that crashes in a signal handler while other threads wait."""

    @classmethod
    def setUpClass(cls):
        for tool in ("gcc", "gdb", "eu-stack", "strip"):
            if shutil.which(tool) is None:
                raise unittest.SkipTest("there is no " + tool)
        cls.work = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.work.cleanup)
        folder = cls.folder = cls.work.name
        for name, text in (("lib.c", LIBRARY), ("main.c", MAIN)):
            with open(os.path.join(folder, name), "w") as out:
                out.write(text)
        for words in (["-shared", "-fPIC", "lib.c", "-o", "libcrash.so"], ["main.c", "-o", "crash", "-L.", "-lcrash", "-Wl,-rpath,$ORIGIN", "-lpthread"]):
            subprocess.run(["gcc", "-O2", *words], cwd=folder, check=True)

    def core(self, name, **environment):
        path = os.path.join(self.folder, name)
        done = subprocess.run(["gdb", "-nx", "-batch", "-ex", "handle SIGUSR1 nostop noprint pass", "-ex", "run", "-ex", "generate-core-file " + path, "./crash"],
                              cwd=self.folder, capture_output=True, text=True, env={"PATH": os.environ["PATH"], "LC_ALL": "C", **environment})
        if not os.path.exists(path):
            self.skipTest("gdb wrote no core file: " + (done.stderr.strip().splitlines() or [""])[-1])
        return path

    def theirs(self, core):
        """[(pc, name)] by thread as eu-stack prints them."""
        out = subprocess.run(["eu-stack", "--core", core, "-e", os.path.join(self.folder, "crash")], capture_output=True, text=True).stdout
        threads = {}
        for line in out.splitlines():
            if line.startswith("TID "):
                current = threads.setdefault(int(line[4:].rstrip(":")), [])
            elif line.startswith("#"):
                words = line.split()
                current.append((int(words[1], 16), words[2] if len(words) > 2 else None))
        return threads

    def ours(self, core):
        code, out, err = run("unwind", core, "--format", "json")
        self.assertEqual(code, 0, err)
        threads = [json.loads(line) for line in out.splitlines()]
        return {one["thread"]: one["frames"] for one in threads}

    def compare(self, core):
        ours, theirs = self.ours(core), self.theirs(core)
        self.assertEqual(set(ours), set(theirs))
        self.assertEqual(len(ours), 3)
        for thread, frames in ours.items():
            self.assertEqual([int(frame["pc"], 16) for frame in frames], [pc for pc, _ in theirs[thread]])
            for frame, (_, name) in zip(frames, theirs[thread]):
                # Of several names of one function of libc another may be chosen.
                if "crash" in os.path.basename(frame["module"]):
                    self.assertEqual(frame.get("function"), name)
        return ours

    def test_threads_library_and_signal_handler(self):
        threads = self.compare(self.core("core.abort"))
        names = [[frame.get("function") for frame in frames] for frames in threads.values()]
        main = next(one for one in names if "main" in one)
        handler = main.index("on_signal")
        self.assertEqual(main.count("deeper"), 5)
        frames = next(frames for frames in threads.values() if any(f.get("function") == "main" for f in frames))
        self.assertTrue(frames[handler + 1].get("signal_frame"))
        self.assertEqual(sum(bool(f.get("signal_frame")) for f in frames), 1)
        self.assertEqual(next(one for one in names if "lib_enter" in one).count("lib_hidden"), 4)
        self.assertEqual(next(one for one in names if "in_pause" in one).count("spin.isra.0") or next(one for one in names if "in_pause" in one).count("spin"), 6)

    def test_a_call_of_no_code(self):
        core = self.core("core.null", NO_CODE="1")
        frames = next(one for one in self.ours(core).values() if any(f.get("function") == "main" for f in one))
        self.assertEqual((frames[0]["pc"], frames[0]["found_by"]), ("0x0", "registers"))
        self.assertEqual((frames[1]["function"], frames[1]["found_by"]), ("crash", "return address"))
        self.assertEqual([f["function"] for f in frames if f["function" if "function" in f else "pc"] == "deeper"], ["deeper"] * 5)

    def test_stripped(self):
        """Names of what is not exported are gone, and all frames are there."""
        core = self.core("core.stripped")
        whole = self.ours(core)
        for name in ("crash", "libcrash.so"):
            subprocess.run(["strip", "--strip-all", os.path.join(self.folder, name), "-o", os.path.join(self.folder, "s")], check=True)
            target = os.path.join(self.folder, "stripped" + self.folder)
            os.makedirs(target, exist_ok=True)
            shutil.move(os.path.join(self.folder, "s"), os.path.join(target, name))
        code, out, err = run("unwind", core, "--sysroot", os.path.join(self.folder, "stripped"), "--sysroot", "/", "--format", "json")
        self.assertEqual(code, 0, err)
        stripped = {one["thread"]: one["frames"] for one in map(json.loads, out.splitlines())}
        for thread, frames in whole.items():
            self.assertEqual([f["pc"] for f in stripped[thread]], [f["pc"] for f in frames])
        names = {f.get("function") for frames in stripped.values() for f in frames}
        self.assertIn("lib_enter", names)
        self.assertNotIn("lib_hidden", names)
        self.assertNotIn("deeper", names)

    def test_each_cut_gives_a_beginning(self):
        core = self.core("core.cut")
        whole = read(core)
        for part in (0.05, 0.3, 0.7, 0.99):
            path = os.path.join(self.folder, "cut")
            with open(path, "wb") as out:
                out.write(whole[:int(len(whole) * part)])
            code, out, err = run("unwind", path)
            self.assertEqual(code, 1)
            self.assertIn("unexpected end of the data", err)
            self.assertRegex(out, r"thread \d+\n  #0   [0-9a-f]{16} ") if "thread" in out else self.assertIn("no threads", err)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
