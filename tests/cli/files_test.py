# SPDX-License-Identifier: Apache-2.0
"""Checks that `backsight` never loses a file and never hangs on one: outputs, inputs that change, streams, odd entries.

    files_test.py PROGRAM DATA
"""
import glob
import os
import re
import resource
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

PROGRAM, DATA = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
LOG = os.path.join(DATA, "xray/c19/fdr-threads.xray")
CUT = os.path.join(DATA, "xray/c19/cut-fdr-threads-61.xray")
TRACED = os.path.join(DATA, "xray/bin/workload-19")
ELF = os.path.join(DATA, "cfi/elf/gcc-O2")
MEMTRACE = os.path.join(DATA, "memtrace/single/drmemtrace.single.10508.3099.trace")
UFTRACE = os.path.join(DATA, "uftrace/single-pg/uftrace.data")
NOBODY = 65534


def contents(folder):
    """Every file below the folder with its bytes; links as what they point at."""
    found = {}
    for at, folders, files in os.walk(folder):
        for name in files + folders:
            path = os.path.join(at, name)
            if os.path.islink(path):
                found[os.path.relpath(path, folder)] = os.readlink(path)
            elif os.path.isfile(path):
                with open(path, "rb") as file:
                    found[os.path.relpath(path, folder)] = file.read()
            else:
                found[os.path.relpath(path, folder)] = None
    return found


class Files(unittest.TestCase):
    def setUp(self):
        self.folder = os.path.realpath(tempfile.mkdtemp())
        os.chmod(self.folder, 0o777)
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def copy(self, source, name):
        if os.path.isdir(source):
            shutil.copytree(source, self.path(name))
        else:
            shutil.copyfile(source, self.path(name))
        return self.path(name)

    def run_it(self, *words, code=0, timeout=20, program=PROGRAM, **more):
        done = subprocess.run([program, *words], capture_output=True, cwd=self.folder, timeout=timeout, check=False, **more)
        if done.returncode != code:
            raise AssertionError(f"{words} ends with {done.returncode} instead of {code}: {done.stderr.decode()}")
        return done.stdout, done.stderr.decode()

    def run_as_nobody(self, *words, **more):
        """Runs a copy of the program, as the project may lie where only root may look."""
        def drop():
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        with tempfile.TemporaryDirectory() as place:
            os.chmod(place, 0o755)
            program = shutil.copy(PROGRAM, place)
            os.chmod(program, 0o755)
            return self.run_it(*words, program=program, preexec_fn=drop, **more)

    def refuses(self, *words, **more):
        """The command ends with 2, says why, and nothing in the folder differs."""
        before = contents(self.folder)
        out, err = self.run_it(*words, code=2, **more)
        self.assertEqual(out, b"")
        self.assertEqual(len(err.splitlines()), 1, err)
        self.assertEqual(contents(self.folder), before)
        return err


class OwnInput(Files):
    """An input that is its own output is refused before anything is written."""

    def test_files_and_their_links(self):
        commands = {LOG: [["export", "--to", kind] for kind in ("folded", "chrome", "perfetto", "dot", "yaml")] + [["graph"]],
                    ELF: [["cfi", "emit-c"], ["cfi", "table"]]}
        for source, words in commands.items():
            self.copy(source, "x")
            os.symlink("x", self.path("link"))
            os.symlink(self.path("link"), self.path("second"))
            os.link(self.path("x"), self.path("hard"))
            for command in words:
                for given, output in (("x", "x"), ("x", "./x"), ("x", self.path("x")), ("x", "link"), ("x", "second"), ("x", "hard"), ("link", "x"),
                                      ("hard", "second")):
                    with self.subTest(command=command, given=given, output=output):
                        self.assertIn(output + ": is an input", self.refuses(*command, given, "-o", output))
            for name in ("x", "link", "second", "hard"):
                os.remove(self.path(name))

    def test_stdin_and_stdout(self):
        self.copy(LOG, "x")
        with open(self.path("x"), "rb") as file:
            self.refuses("export", "--to", "folded", "-", "-o", "x", stdin=file)
        for command in (["report", "x"], ["dump", "x"], ["export", "--to", "chrome", "x"], ["export", "--to", "chrome", "x", "-o", "/dev/stdout"]):
            with self.subTest(command=command), open(self.path("x"), "ab") as file:
                done = subprocess.run([PROGRAM, *command], stdout=file, stderr=subprocess.PIPE, cwd=self.folder, check=False)
                self.assertEqual(done.returncode, 2)
                self.assertIn(b"is an input", done.stderr)
        with open(LOG, "rb") as a, open(self.path("x"), "rb") as b:
            self.assertEqual(a.read(), b.read())

    def test_the_file_of_symbols(self):
        self.copy(TRACED, "program")
        for command in (["export", "--to", "folded"], ["graph"]):
            self.refuses(*command, LOG, "--symbols", "program", "-o", "program")

    def test_files_of_a_folder(self):
        self.copy(UFTRACE, "data")
        task = next(name for name in os.listdir(self.path("data")) if name.endswith(".dat"))
        os.link(self.path("data", task), self.path("hard"))
        os.symlink("data/task.txt", self.path("link"))
        for command in (["replay"], ["graph"], ["export", "--to", "chrome"], ["export", "--to", "perfetto"]):
            for output in ("data/info", "data/" + task, "hard", "link"):
                with self.subTest(command=command, output=output):
                    self.refuses(*command, "data", "-o", output)
        # A new file there is none of the recording's.
        self.run_it("export", "--to", "folded", "data", "-o", "data/out")

    def test_objects_that_a_recording_names(self):
        self.copy(ELF, "program")
        self.copy(UFTRACE, "data")
        for name in os.listdir(self.path("data")):
            path = self.path("data", name)
            if name.endswith(".sym"):
                os.remove(path)
            elif name == "task.txt" or name.endswith(".map"):
                with open(path, encoding="utf-8") as file:
                    text = file.read()
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text.replace("/opt/app/single-pg", self.path("program")))
        self.refuses("export", "--to", "folded", "data", "-o", "program")

    def test_folders_of_memtraces(self):
        os.mkdir(self.path("set"))
        self.copy(MEMTRACE, "set/x.trace")
        self.refuses("windows", "set", "--index", "set/x.trace")
        for command in ("split", "merge"):
            self.refuses(command, "set", "-o", "set")
            self.refuses(command, "set/x.trace", "-o", "set")
            self.refuses(command, "set/x.trace", "-o", "set/x.trace")
        # The merged file would have the name of the one that it comes from.
        self.assertIn("x.trace: is an input", self.refuses("merge", "set", "-o", "set", "--force"))

    def test_objects_that_compile_made(self):
        with open(ELF, "rb") as file:
            content = file.read()
        done = subprocess.run(["readelf", "-n", ELF], capture_output=True, check=False) if shutil.which("readelf") else None
        if done is None or b"Build ID: " not in done.stdout:
            self.skipTest("no readelf to tell the build-id")
        name = done.stdout.split(b"Build ID: ")[1].split()[0].decode()
        os.mkdir(self.path("made"))
        for end in (".so", ".c"):
            with open(self.path("made", name + end), "wb") as file:
                file.write(content)
            self.refuses("cfi", "compile", "made/" + name + end, "-o", "made")
            os.remove(self.path("made", name + end))


class Index(Files):
    def test_windows_keeps_other_files(self):
        self.run_it("windows", MEMTRACE, "--index", "index")
        with open(self.path("index"), "rb") as file:
            index = file.read()
        # An index may be made anew.
        self.run_it("windows", MEMTRACE, "--index", "index")
        self.assertEqual(contents(self.folder), {"index": index})
        for content in (b"", b"letters", b"#!/bin/sh\n" * 100, index[1:], index[:7]):
            with open(self.path("other"), "wb") as file:
                file.write(content)
            for words in ([], ["--window", "0"]):
                self.assertIn("other: ", self.refuses("windows", MEMTRACE, "--index", "other", *words))
        os.mkdir(self.path("folder"))
        os.mkfifo(self.path("fifo"))
        for name in ("folder", "fifo", "/dev/null"):
            self.refuses("windows", MEMTRACE, "--index", name)

    def test_uftrace_keeps_other_files(self):
        recording = os.path.join(DATA, "uftrace/args-spec/uftrace.data")
        os.mkdir(self.path("kept"))
        words = ["replay", recording, "-r", "1us~", "--index", "kept"]
        self.run_it(*words)
        made = contents(self.path("kept"))
        self.assertGreater(len(made), 0)
        self.run_it(*words)
        self.assertEqual(contents(self.path("kept")), made)
        name = sorted(made)[0]
        for content in (b"", b"letters\n" * 20, made[name][:7], made[name][1:]):
            with open(self.path("kept", name), "wb") as file:
                file.write(content)
            self.refuses(*words)
        # An index that no longer fits is made anew, also where it lies beside the recording.
        with open(self.path("kept", name), "wb") as file:
            file.write(made[name][:-1])
        self.run_it(*words)
        self.assertEqual(contents(self.path("kept")), made)
        self.copy(recording, "data")
        with open(self.path("data", name), "wb") as file:
            file.write(made[name][:-1])
        self.run_it("replay", "data", "-r", "1us~", "--index", "data")
        self.assertEqual(contents(self.path("data"))[name], made[name])


class Replacing(Files):
    """A file is replaced as a whole or stays as it was."""

    def test_links_and_modes_stay(self):
        with open(self.path("target"), "w", encoding="utf-8") as file:
            file.write("before")
        os.chmod(self.path("target"), 0o640)
        if os.geteuid() == 0:
            os.chown(self.path("target"), NOBODY, NOBODY)
        os.mkdir(self.path("below"))
        os.symlink("../target", self.path("below", "link"))
        os.symlink("new", self.path("dangling"))
        out, _ = self.run_it("export", "--to", "folded", LOG)
        self.run_it("export", "--to", "folded", LOG, "-o", "below/link")
        self.run_it("export", "--to", "folded", LOG, "-o", "dangling")
        self.assertEqual(contents(self.folder), {"below": None, "below/link": "../target", "target": out, "dangling": "new", "new": out})
        status = os.stat(self.path("target"))
        self.assertEqual(stat.S_IMODE(status.st_mode), 0o640)
        if os.geteuid() == 0:
            self.assertEqual((status.st_uid, status.st_gid), (NOBODY, NOBODY))
        mask = os.umask(0)
        os.umask(mask)
        self.assertEqual(stat.S_IMODE(os.stat(self.path("new")).st_mode), 0o666 & ~mask)

    def test_a_failed_command_leaves_what_was_there(self):
        with open(ELF, "rb") as file:
            damaged = bytearray(file.read())
        for words, source in ((["cfi", "emit-c"], "broken"), (["cfi", "table"], "broken"), (["export", "--to", "folded"], "broken"),
                              (["graph"], "missing")):
            with open(self.path("broken"), "wb") as file:
                file.write(damaged[:200])
            with open(self.path("kept"), "wb") as file:
                file.write(b"before")
            with self.subTest(words=words):
                self.run_it(*words, source, "-o", "kept", code=1)
                self.assertEqual(contents(self.folder), {"broken": bytes(damaged[:200]), "kept": b"before"})

    def test_results_of_damaged_input_are_kept_as_on_stdout(self):
        out, _ = self.run_it("export", "--to", "folded", CUT, code=1)
        self.run_it("export", "--to", "folded", CUT, "-o", "kept", code=1)
        self.assertEqual(contents(self.folder), {"kept": out})

    def test_a_full_disk_leaves_what_was_there(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        with open(self.path("kept"), "wb") as file:
            file.write(b"before")
        for words in (["export", "--to", "chrome", LOG, "-o", "kept"], ["export", "--to", "chrome", LOG, "-o", "new"],
                      ["split", MEMTRACE, "-o", "folder"], ["split", MEMTRACE, "-o", "deep/er/folder"]):
            with self.subTest(words=words):
                _, err = self.run_it(*words, code=1, preexec_fn=limit)
                self.assertIn("File too large", err)
                self.assertEqual(contents(self.folder), {"kept": b"before"})

    def test_a_failed_output_names_its_reason(self):
        os.mkdir(self.path("folder"))
        os.symlink("loop", self.path("loop"))
        with open(self.path("file"), "wb") as file:
            file.write(b"before")
        before = contents(self.folder)
        reasons = {"missing/x": "No such file or directory", "folder": "Is a directory", "file/x": "Not a directory", "loop": "Too many levels of symbolic links",
                   "/dev/full": "No space left on device", "": "No such file or directory", "n" * 300: "File name too long"}
        for output, reason in reasons.items():
            for words in (["export", "--to", "folded", LOG], ["graph", LOG], ["cfi", "emit-c", ELF], ["cfi", "table", ELF], ["replay", UFTRACE]):
                with self.subTest(output=output, words=words):
                    _, err = self.run_it(*words, "-o", output, code=1)
                    self.assertIn(f"{output}: {reason}", err.splitlines())
        for words in (["split", MEMTRACE], ["merge", MEMTRACE], ["cfi", "compile", ELF]):
            _, err = self.run_it(*words, "-o", "file", code=1)
            self.assertIn("file: Not a directory", err)
        self.assertEqual(contents(self.folder), before)

    @unittest.skipUnless(os.geteuid() == 0, "only root can become another user")
    def test_rights_count(self):
        self.copy(LOG, "x")
        self.copy(MEMTRACE, "windows")
        os.mkdir(self.path("closed"), 0o755)
        for name in ("closed/old", "old"):
            with open(self.path(name), "wb") as file:
                file.write(b"before")
        for output in ("closed/new", "closed/old", "old"):
            _, err = self.run_as_nobody("export", "--to", "folded", "x", "-o", output, code=1)
            self.assertEqual(err, f"{output}: Permission denied\n")
        _, err = self.run_as_nobody("split", "windows", "-o", "closed/folder", code=1)
        self.assertEqual(err, "closed/folder: Permission denied\n")
        self.assertEqual({name: content for name, content in contents(self.folder).items() if name not in ("x", "windows")},
                         {"closed": None, "closed/old": b"before", "old": b"before"})

    def test_a_closed_stdout_is_an_error_and_no_file(self):
        done = subprocess.run(["sh", "-c", f'"{PROGRAM}" report "{LOG}" >&-'], capture_output=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("stdout: Bad file descriptor", done.stderr.decode().splitlines())
        out, _ = self.run_it("export", "--to", "folded", LOG)
        done = subprocess.run(["sh", "-c", f'"{PROGRAM}" export --to folded "{LOG}" -o new <&- >&- 2>&-'], cwd=self.folder, check=False)
        self.assertEqual(done.returncode, 0)
        self.assertEqual(contents(self.folder), {"new": out})


class InPlace(Files):
    """What is no regular file is written where it is."""

    def setUp(self):
        super().setUp()
        self.out, _ = self.run_it("export", "--to", "folded", LOG)

    def test_stdout_by_its_names(self):
        os.symlink("/dev/stdout", self.path("link"))
        for name in ("-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "/proc/thread-self/fd/1", "link"):
            with self.subTest(name=name):
                self.assertEqual(self.run_it("export", "--to", "folded", LOG, "-o", name)[0], self.out)
                # What was there stays when stdout is a file to which is added.
                with open(self.path("all"), "wb") as file:
                    file.write(b"before\n")
                with open(self.path("all"), "ab") as file:
                    subprocess.run([PROGRAM, "export", "--to", "folded", LOG, "-o", name], stdout=file, check=True, cwd=self.folder)
                self.assertEqual(contents(self.folder)["all"], b"before\n" + self.out)

    def test_descriptors_and_fifos(self):
        reader, writer = os.pipe()
        os.set_inheritable(writer, True)
        child = subprocess.Popen([PROGRAM, "export", "--to", "folded", LOG, "-o", f"/dev/fd/{writer}"], pass_fds=[writer])
        os.close(writer)
        with os.fdopen(reader, "rb") as file:
            self.assertEqual(file.read(), self.out)
        self.assertEqual(child.wait(), 0)
        os.mkfifo(self.path("fifo"))
        child = subprocess.Popen([PROGRAM, "export", "--to", "folded", LOG, "-o", self.path("fifo")])
        with open(self.path("fifo"), "rb") as file:
            self.assertEqual(file.read(), self.out)
        self.assertEqual(child.wait(), 0)
        self.assertEqual(contents(self.folder), {"fifo": None})

    def test_a_fifo_that_nobody_reads(self):
        os.mkfifo(self.path("fifo"))
        _, err = self.run_it("export", "--to", "folded", LOG, "-o", "fifo", code=1, timeout=10)
        self.assertIn("fifo: no process", err)

    def test_a_device(self):
        self.run_it("export", "--to", "folded", LOG, "-o", "/dev/null")
        self.assertTrue(stat.S_ISCHR(os.stat("/dev/null").st_mode))


class Folders(Files):
    def split(self, name, *words, code=0):
        return self.run_it("split", MEMTRACE, "-o", name, *words, code=code)

    def test_a_new_and_an_empty_folder_are_filled(self):
        self.split("new")
        made = contents(self.path("new"))
        self.assertGreater(len(made), 1)
        os.mkdir(self.path("empty"))
        os.symlink("empty", self.path("link"))
        self.split("link/")
        self.assertEqual(contents(self.path("empty")), made)
        self.split("a/b/c")
        self.assertEqual(contents(self.path("a/b/c")), made)
        done = subprocess.run([PROGRAM, "split", MEMTRACE, "-o", "."], cwd=tempfile.mkdtemp(dir=self.folder), check=False)
        self.assertEqual(done.returncode, 0)

    def test_other_content_is_kept_unless_forced(self):
        self.split("made")
        made = contents(self.path("made"))
        os.mkdir(self.path("used"))
        with open(self.path("used", "notes"), "wb") as file:
            file.write(b"mine")
        for words in (["split", MEMTRACE, "-o", "used"], ["merge", "made", "-o", "used"], ["merge", "made", "-o", "made"]):
            self.assertIn("--force", self.refuses(*words))
        self.split("used", "--force")
        self.assertEqual(contents(self.path("used")), {**made, "notes": b"mine"})
        # Forced twice: the same files again, and nothing but them.
        self.split("used", "--force")
        self.assertEqual(contents(self.path("used")), {**made, "notes": b"mine"})
        self.run_it("merge", "made", "-o", "made", "--force")
        after = contents(self.path("made"))
        self.assertEqual({name: after[name] for name in made}, made)
        self.assertEqual(len(after), len(made) + 1)

    def test_a_folder_is_not_stdout(self):
        for command in ("split", "merge"):
            self.refuses(command, MEMTRACE, "-o", "-")

    def test_a_folder_where_a_file_should_be_stops_all(self):
        self.split("made")
        first = sorted(name for name, content in contents(self.path("made")).items() if content is not None)[-1]
        os.makedirs(self.path("used", first))
        before = contents(self.path("used"))
        _, err = self.split("used", "--force", code=1)
        self.assertIn("Is a directory", err)
        self.assertEqual(contents(self.path("used")), before)

    def test_damaged_input_that_gives_nothing_makes_nothing(self):
        with open(self.path("x.trace"), "wb") as file:
            file.write(b"nothing" * 100)
        for command in ("split", "merge"):
            self.run_it(command, "x.trace", "-o", "a/b", code=1)
            self.assertEqual(sorted(os.listdir(self.folder)), ["x.trace"])


def large_log(path, copies):
    """The buffers of a log again and again."""
    with open(LOG, "rb") as file:
        content = file.read()
    with open(path, "wb") as file:
        file.write(content[:32] + content[32:] * copies)


class Interrupted(Files):
    def stop_while_writing(self, words, act):
        """Starts the program, stops it as soon as it has a temporary file or folder in self.folder, acts, and lets it go on."""
        child = subprocess.Popen([PROGRAM, *words], cwd=self.folder, stderr=subprocess.PIPE)
        try:
            while child.poll() is None and not glob.glob(self.path("**/.backsight-*"), recursive=True, include_hidden=True):
                pass
            self.assertIsNone(child.poll(), "the program was too fast for this test")
            os.kill(child.pid, signal.SIGSTOP)
            self.assertTrue(glob.glob(self.path("**/.backsight-*"), recursive=True, include_hidden=True))
            act(child)
            os.kill(child.pid, signal.SIGCONT)
            _, err = child.communicate(timeout=60)
        finally:
            child.kill()
            child.wait()
        return child.returncode, err.decode()

    @unittest.skipUnless(sys.version_info >= (3, 11), "needs Python 3.11")
    def test_signals_leave_nothing_behind(self):
        large_log(self.path("x"), 100)
        with open(self.path("kept"), "wb") as file:
            file.write(b"before")
        before = sorted(os.listdir(self.folder))
        commands = (["export", "--to", "chrome", "x", "-o", "kept"], ["export", "--to", "chrome", "x", "-o", "new"])
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            for words in commands:
                code, err = self.stop_while_writing(words, lambda child: child.send_signal(number))
                self.assertEqual((code, err), (-number, ""))
                self.assertEqual(sorted(os.listdir(self.folder)), before)
                with open(self.path("kept"), "rb") as file:
                    self.assertEqual(file.read(), b"before")

    def test_signals_leave_no_folders_behind(self):
        os.mkdir(self.path("empty"))
        for output in ("a/b/new", "empty"):
            # It waits for the rest of its input.
            child = subprocess.Popen([PROGRAM, "split", "-", "-o", output], cwd=self.folder, stdin=subprocess.PIPE)
            for _ in range(1000):
                if any(".backsight-" in name for name in contents(self.folder)):
                    break
                time.sleep(0.01)
            self.assertTrue(any(".backsight-" in name for name in contents(self.folder)))
            child.send_signal(signal.SIGTERM)
            self.assertEqual(child.wait(), -signal.SIGTERM)
            child.stdin.close()
            self.assertEqual(contents(self.folder), {"empty": None})

    @unittest.skipUnless(sys.version_info >= (3, 11), "needs Python 3.11")
    def test_an_input_that_shrinks_while_it_is_exported(self):
        for left in (0, 5000):
            large_log(self.path("x"), 100)
            with open(self.path("kept"), "wb") as file:
                file.write(b"before")
            code, err = self.stop_while_writing(["export", "--to", "chrome", "x", "-o", "kept"], lambda child: os.truncate(self.path("x"), left))
            self.assertEqual((code, err.splitlines()[-1]), (1, "x: changed while it was read"))
            with open(self.path("kept"), "rb") as file:
                self.assertEqual(file.read(), b"before")
            self.assertEqual(sorted(os.listdir(self.folder)), ["kept", "x"])

    def shrink_while_blocked(self, words, path, size):
        """Truncates a file while the program waits for somebody to read its output."""
        child = subprocess.Popen([PROGRAM, *words], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)
        self.assertTrue(child.stdout.read(1))
        time.sleep(0.3)
        self.assertIsNone(child.poll())
        os.truncate(path, size)
        _, err = child.communicate(timeout=60)
        return child.returncode, err.decode()

    def test_an_input_that_shrinks_while_it_is_shown(self):
        for words in (["dump"], ["dump", "--hex"]):
            large_log(self.path("x"), 40)
            self.assertEqual(self.shrink_while_blocked([*words, "x"], self.path("x"), 0), (1, "x: changed while it was read\n"))
        # Within its last page nothing faults.
        large_log(self.path("x"), 40)
        size = os.path.getsize(self.path("x"))
        self.assertNotEqual(size // 4096 * 4096, size)
        code, err = self.shrink_while_blocked(["dump", "x"], self.path("x"), size // 4096 * 4096 + 1)
        self.assertEqual((code, err.splitlines()[-1]), (1, "x: changed while it was read"))

    def test_a_file_of_a_folder_that_shrinks(self):
        self.copy(UFTRACE, "data")
        task = next(self.path("data", name) for name in os.listdir(self.path("data")) if name.endswith(".dat"))
        with open(task, "rb") as file:
            records = file.read()
        # The same calls again, later.
        with open(task, "wb") as file:
            for i in range(4000):
                for at in range(0, len(records) // 16 * 16, 16):
                    moment, rest = struct.unpack_from("<QQ", records, at)
                    file.write(struct.pack("<QQ", moment + i * 1_000_000_000, rest))
        name = "data/" + os.path.basename(task)
        self.assertEqual(self.shrink_while_blocked(["replay", "data"], task, 0), (1, name + ": changed while it was read\n"))

    def test_an_input_that_grows_or_is_replaced_is_whole(self):
        large_log(self.path("x"), 40)
        out, _ = self.run_it("dump", "x")

        def grow():
            with open(self.path("x"), "ab") as file:
                file.write(b"more" * 100)

        def replace():
            large_log(self.path("y"), 1)
            os.rename(self.path("y"), self.path("x"))
        for act in (grow, replace):
            large_log(self.path("x"), 40)
            child = subprocess.Popen([PROGRAM, "dump", "x"], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)
            first = child.stdout.read(1)
            act()
            rest, err = child.communicate(timeout=60)
            self.assertEqual((child.returncode, err), (0, b""))
            self.assertTrue(first + rest == out)


class Streams(Files):
    COMMANDS = [
        (LOG, ["info"]), (LOG, ["dump"]), (LOG, ["dump", "--hex"]), (LOG, ["report"]), (LOG, ["stacks"]), (LOG, ["graph"]),
        (LOG, ["export", "--to", "chrome"]), (LOG, ["export", "--to", "yaml"]),
        (MEMTRACE, ["info"]), (MEMTRACE, ["counts"]), (MEMTRACE, ["windows"]), (MEMTRACE, ["view"]), (MEMTRACE, ["check"]),
        (MEMTRACE + ".zip", ["counts"]), (MEMTRACE + ".gz", ["windows"]), (MEMTRACE + ".lz4", ["check"]),
        (ELF, ["cfi", "rows"]), (ELF, ["cfi", "stats"]), (ELF, ["cfi", "emit-c"]), (ELF, ["cfi", "lookup", None, "401000"]),
    ]

    @staticmethod
    def words(command, path):
        return [path if word is None else word for word in command] if None in command else [*command, path]

    def test_every_way_of_giving_a_file_gives_the_same(self):
        for source, command in self.COMMANDS:
            with open(source, "rb") as file:
                content = file.read()

            def plain(done, path):
                # Some outputs begin with the name of the file.
                return done.returncode, re.sub(b"(?m)^" + re.escape(path.encode()) + b":", b"INPUT:", done.stdout)

            def run_with(path, **more):
                return plain(subprocess.run([PROGRAM, *self.words(command, path)], capture_output=True, timeout=60, check=False, **more), path)
            expected = run_with(source)
            with self.subTest(command=command, source=source):
                self.assertEqual(expected[0], 0)
                for path in ("/dev/stdin", "-", "/dev/fd/0"):
                    self.assertTrue(run_with(path, input=content) == expected)
                    with open(source, "rb") as file:
                        self.assertTrue(run_with(path, stdin=file) == expected)
                fifo = self.path("fifo")
                os.mkfifo(fifo)
                child = subprocess.Popen([PROGRAM, *self.words(command, fifo)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
                # A slow writer.
                with open(fifo, "wb") as file:
                    file.write(content[:1000])
                    file.flush()
                    time.sleep(0.05)
                    file.write(content[1000:])
                out, _ = child.communicate(timeout=60)
                self.assertTrue((child.returncode, re.sub(b"(?m)^" + fifo.encode() + b":", b"INPUT:", out)) == expected)
                os.remove(fifo)

    def test_symbols_by_a_pipe(self):
        expected, _ = self.run_it("report", LOG, "--symbols", TRACED)
        with open(TRACED, "rb") as file:
            self.assertEqual(self.run_it("report", LOG, "--symbols", "/dev/stdin", input=file.read())[0], expected)

    def test_stdin_is_read_from_where_it_stands(self):
        expected, _ = self.run_it("report", LOG)
        with open(self.path("x"), "wb") as file:
            file.write(b"another program's line\n")
            with open(LOG, "rb") as log:
                file.write(log.read())
        with open(self.path("x"), "rb", buffering=0) as file:
            file.readline()
            file.seek(23)
            self.assertEqual(self.run_it("report", "-", stdin=file)[0], expected)

    def test_empty_streams_are_no_traces(self):
        for path in ("-", "/dev/stdin"):
            self.assertTrue(self.run_it("report", path, code=1, input=b"")[1].startswith(path + ":"))

    def test_what_never_answers_is_refused(self):
        os.mkfifo(self.path("fifo"))
        server = socket.socket(socket.AF_UNIX)
        self.addCleanup(server.close)
        server.bind(self.path("socket"))
        for path in ("fifo", "socket", "/dev/zero", "/dev/urandom", "/dev/null"):
            for words in (["report"], ["info"], ["cfi", "rows"], ["cfi", "emit-c"], ["windows"], ["counts"], ["check"]):
                with self.subTest(path=path, words=words):
                    begun = time.monotonic()
                    _, err = self.run_it(*words, path, code=1, timeout=30)
                    self.assertLess(time.monotonic() - begun, 10)
                    self.assertTrue(err.startswith(path + ":"), err)
        _, err = self.run_it("report", LOG, "--symbols", "fifo", code=1)
        self.assertIn("fifo: no process", err)

    def test_a_stream_without_end_that_is_no_trace_is_refused_by_its_first_bytes(self):
        for words in (["report"], ["info"], ["check"], ["counts"], ["windows"], ["cfi", "rows"], ["unwind"]):
            for line in (b"y\n", bytes(2)):
                with self.subTest(words=words, line=line):
                    child = subprocess.Popen([PROGRAM, *words, "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                    written = 0
                    try:
                        while written < 64 << 20:
                            written += child.stdin.write(line * 32768)
                    except BrokenPipeError:
                        pass
                    try:
                        child.stdin.close()
                    except BrokenPipeError:
                        pass
                    child.stdin = None
                    out, err = child.communicate(timeout=30)
                    self.assertLess(written, 64 << 20)
                    self.assertIn(child.returncode, (1, 2))
                    self.assertEqual(out, b"")
                    self.assertTrue(err.startswith(b"-:"), err)

    def test_a_stream_larger_than_memory_is_an_error(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (256 << 20, 256 << 20))
        def write(stream):
            try:
                stream.write(b"\x7fELF")
                for _ in range(300):
                    stream.write(bytes(1 << 20))
            except BrokenPipeError:
                pass
        child = subprocess.Popen([PROGRAM, "cfi", "rows", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=limit)
        writer = threading.Thread(target=write, args=[child.stdin])
        writer.start()
        child.wait(timeout=60)
        writer.join()
        with child.stdout, child.stderr:
            self.assertEqual(child.returncode, 1)
            self.assertRegex(child.stderr.read().decode(), r"^-: .*memory")
        try:
            child.stdin.close()
        except BrokenPipeError:
            pass


class OddEntries(Files):
    def add_odd_entries(self, folder, end=""):
        """What is no readable file, under names with this end; gives the names."""
        os.mkfifo(os.path.join(folder, "a-fifo" + end))
        os.symlink("nowhere", os.path.join(folder, "a-link" + end))
        os.symlink("a-loop" + end, os.path.join(folder, "a-loop" + end))
        os.symlink("/dev/zero", os.path.join(folder, "a-device" + end))
        os.symlink(".", os.path.join(folder, "a-link-to-a-folder" + end))
        os.mkdir(os.path.join(folder, "a-folder" + end))
        server = socket.socket(socket.AF_UNIX)
        self.addCleanup(server.close)
        server.bind(os.path.join(folder, "a-socket" + end))
        return [name + end for name in ("a-fifo", "a-link", "a-loop", "a-device", "a-link-to-a-folder", "a-folder", "a-socket")]

    def test_uftrace_directories(self):
        self.copy(UFTRACE, "data")
        commands = (["replay"], ["report"], ["info"], ["dump"], ["graph"], ["stacks"], ["export", "--to", "folded"])
        expected = {tuple(words): self.run_it(*words, "data") for words in commands}
        odd = self.add_odd_entries(self.path("data"))
        for words in commands:
            with self.subTest(words=words):
                out, err = self.run_it(*words, "data", timeout=10)
                self.assertEqual(out, expected[tuple(words)][0])
                for name in odd:
                    self.assertEqual(err.count(f"data/{name}: "), 1, err)
                self.assertEqual(len(err.splitlines()), len(odd) + len(expected[tuple(words)][1].splitlines()))

    def test_folders_of_memtraces(self):
        os.mkdir(self.path("set"))
        self.copy(MEMTRACE, "set/x.trace")
        commands = (["windows"], ["counts"], ["check"], ["view"], ["info"], ["dump"])
        expected = {tuple(words): self.run_it(*words, "set")[0] for words in commands}
        odd = self.add_odd_entries(self.path("set"), ".trace")
        for words in commands:
            with self.subTest(words=words):
                out, err = self.run_it(*words, "set", timeout=10)
                self.assertEqual(out, expected[tuple(words)])
                for name in odd:
                    self.assertEqual(err.count(f"set/{name}: "), 1, err)

    @unittest.skipUnless(os.geteuid() == 0, "only root can become another user")
    def test_unreadable_files(self):
        self.copy(UFTRACE, "data")
        for name in os.listdir(self.path("data")):
            os.chmod(self.path("data", name), 0o644)
        os.chmod(self.path("data"), 0o755)
        expected, _ = self.run_it("replay", "data")
        with open(self.path("data", "notes"), "wb"):
            os.chmod(self.path("data", "notes"), 0)
        out, err = self.run_as_nobody("replay", "data")
        self.assertEqual((out, err), (expected, "data/notes: no file that a recording has; passed by\n"))
        task = next(name for name in os.listdir(self.path("data")) if name.endswith(".dat"))
        for name in (task, "task.txt"):
            # Without this there are calls missing.
            os.chmod(self.path("data", name), 0)
            _, err = self.run_as_nobody("report", "data", code=1)
            self.assertIn(f"data/{name}:", err)
            os.chmod(self.path("data", name), 0o644)
        os.chmod(self.path("data", "info"), 0)
        self.assertIn("data: Permission denied", self.run_as_nobody("report", "data", code=1)[1])
        os.mkdir(self.path("set"))
        for name in ("a", "b"):
            os.chmod(self.copy(MEMTRACE, f"set/{name}.trace"), 0o644 if name == "b" else 0)
        out, err = self.run_as_nobody("windows", "set", code=1)
        self.assertIn("set/a.trace", err)
        self.assertIn("Permission denied", err)
        self.assertGreater(len(out.splitlines()), 2)

    def test_objects_to_unwind_with(self):
        os.mkfifo(self.path("x.elf"))
        # The build-id of a hostile sample file decides which files are opened.
        begun = time.monotonic()
        for path in (self.path("x.elf"),):
            self.run_it("cfi", "stats", path, code=1)
        self.assertLess(time.monotonic() - begun, 10)


class Times(Files):
    def test_a_far_time_does_not_end_the_program(self):
        # Not every file system keeps such a time.
        for base in ("/dev/shm", self.folder):
            if not os.access(base, os.W_OK):
                continue
            folder = tempfile.mkdtemp(dir=base)
            self.addCleanup(shutil.rmtree, folder)
            data = shutil.copytree(UFTRACE, os.path.join(folder, "data"))
            far = 2**62
            os.utime(os.path.join(data, "info"), (far, far))
            if int(os.stat(os.path.join(data, "info")).st_mtime) != far:
                continue
            for words in (["export", "--to", "chrome"], ["info"], ["export", "--to", "chrome", "--as", "uftrace"], ["info", "--as", "uftrace"]):
                self.assertIn(b"", self.run_it(*words, data)[0])
            return
        self.skipTest("no file system here keeps a time so far ahead")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
