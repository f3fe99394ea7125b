#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a small uftrace directory with kernel data, and what uftrace 0.13 prints for it where that is installed.

Usage: make_kernel_data.py FOLDER [LE|BE] [8|4] [lost|whole]

FOLDER/uftrace.data is written, and FOLDER/expected with the texts of 0.13 in the form of later versions (a wider column for
tasks). Byte order and long size are those of the kernel's pages; the program is a 64-bit little-endian one; with `whole` no
events are lost (0.13 ends with a segmentation fault in `graph` for the other form). Nothing is recorded:
pages are put together from the format's description (Linux, kernel/trace/ring_buffer.c and Documentation/trace/events.rst),
with one of each: nested functions, tracepoints, a long event, an extended time, lost events with and without
a number, a page that is full, two CPUs, a task that moves, a task that is not recorded, kernel functions outside of the
program's. The kernel's files are read by Debian's uftrace 0.13.
"""
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys

folder = pathlib.Path(sys.argv[1]) / "uftrace.data"
ENDIAN = sys.argv[2] if len(sys.argv) > 2 else "LE"
LONG = int(sys.argv[3]) if len(sys.argv) > 3 else 8
LOST = len(sys.argv) <= 4 or sys.argv[4] == "lost"
ORDER = "<" if ENDIAN == "LE" else ">"
PAGE = 4096
BASE = 0x555500000000
FIRST, SECOND, OTHER = 4100, 4101, 77
START = 1000 * 10**9

USER = {"_start": 0x1000, "main": 0x1100, "work": 0x1200, "helper": 0x1300, "read": 0x800, "write": 0x810}
KERNEL = {
    "do_syscall_64": 0xffffffff81001000, "__x64_sys_read": 0xffffffff81002000, "vfs_read": 0xffffffff81003000,
    "schedule": 0xffffffff81004000, "ksys_write": 0xffffffff81005000, "fsnotify": 0xffffffff81006000,
    "nvme_poll": 0xffffffffc0001000, "__x64_sys_exit_group": 0xffffffff81007000, "do_page_fault": 0xffffffff81008000,
}
ENTRY, EXIT, SWITCH, EXAMPLE, LONG_EVENT = 11, 10, 314, 700, 701


def kernel_header():
    if LONG == 8:
        page = [("u64 timestamp", 0, 8, 0), ("local_t commit", 8, 8, 1), ("int overwrite", 8, 1, 1), ("char data", 16, PAGE - 16, 1)]
    else:
        page = [("u64 timestamp", 0, 8, 0), ("local_t commit", 8, 4, 1), ("int overwrite", 8, 1, 1), ("char data", 12, PAGE - 12, 1)]
    text = "".join(f"\tfield: {d};\toffset:{o};\tsize:{s};\tsigned:{g};\n" for d, o, s, g in page)
    blocks = [("events/header_page", text)]

    def event(path, name, number, fields, print_format):
        common = [("unsigned short common_type", 0, 2, 0), ("unsigned char common_flags", 2, 1, 0),
                  ("unsigned char common_preempt_count", 3, 1, 0), ("int common_pid", 4, 4, 1)]
        line = "\tfield:{};\toffset:{};\tsize:{};\tsigned:{};\n"
        text = f"name: {name}\nID: {number}\nformat:\n" + "".join(line.format(*f) for f in common) + "\n"
        text += "".join(line.format(*f) for f in fields) + f"\nprint fmt: {print_format}\n"
        blocks.append((path, text))

    event("events/ftrace/funcgraph_entry/format", "funcgraph_entry", ENTRY,
          [("unsigned long func", 8, LONG, 0), ("int depth", 8 + LONG, 4, 1)], '"--> %lx (%d)", REC->func, REC->depth')
    event("events/ftrace/funcgraph_exit/format", "funcgraph_exit", EXIT,
          [("unsigned long func", 8, LONG, 0), ("int depth", 8 + LONG, 4, 1), ("unsigned long overrun", 16, 4, 0)]
          if LONG == 4 else
          [("unsigned long func", 8, 8, 0), ("int depth", 16, 4, 1), ("unsigned int overrun", 20, 4, 0),
           ("unsigned long long calltime", 24, 8, 0), ("unsigned long long rettime", 32, 8, 0)],
          '"<-- %lx (%d)", REC->func, REC->depth')
    event("events/sched/sched_switch/format", "sched_switch", SWITCH,
          [("char prev_comm[16]", 8, 16, 1), ("pid_t prev_pid", 24, 4, 1), ("int prev_prio", 28, 4, 1),
           ("char next_comm[16]", 32, 16, 1), ("pid_t next_pid", 48, 4, 1)],
          '"prev_comm=%s prev_pid=%d prev_prio=%d ==> next_comm=%s next_pid=%d", '
          'REC->prev_comm, REC->prev_pid, REC->prev_prio, REC->next_comm, REC->next_pid')
    event("events/test/example/format", "example", EXAMPLE,
          [("int foo", 8, 4, 1), ("unsigned int bar", 12, 4, 0)], '"foo=%d, bar=0x%08x 100%%", REC->foo, (unsigned int)(REC->bar)')
    event("events/test/wide/format", "wide", LONG_EVENT, [("u8 kind", 8, 1, 0), ("char text[120]", 9, 120, 1)],
          '"kind=%u text=\\"%s\\"", REC->kind, REC->text')
    out = f"PAGE_SIZE: {PAGE}\nLONG_SIZE: {LONG}\nENDIAN: {ENDIAN}\n".encode()
    for path, text in blocks:
        out += f"TRACEFS: {path}: {len(text)}\n".encode() + text.encode()
    return out


def pack(form, *values):
    return struct.pack(ORDER + form, *values)


def word(type_len, delta):
    return pack("I", type_len | delta << 5 if ENDIAN == "LE" else type_len << 27 | delta)


def address(name):
    value = KERNEL[name] if isinstance(name, str) else name
    return value & (1 << 8 * LONG) - 1


def entry(tid, name, depth):
    data = pack("HBBi", ENTRY, 0, 0, tid) + pack("Q" if LONG == 8 else "I", address(name)) + pack("i", depth)
    return data + bytes(-len(data) % 4)


def leave(tid, name, depth):
    head = pack("HBBi", EXIT, 0, 0, tid)
    if LONG == 8:
        return head + pack("QiIQQ", address(name), depth, 0, 0, 0)
    return head + pack("IiI", address(name), depth, 0)


def switch(tid, before, after):
    return (pack("HBBi", SWITCH, 0, 0, tid) + b"prog".ljust(16, b"\0") + pack("ii", before, 120) +
            b"idle".ljust(16, b"\0") + pack("i", after))


def example(tid, foo, bar):
    return pack("HBBi", EXAMPLE, 0, 0, tid) + pack("iI", foo, bar)


def wide(tid, kind, text):
    data = pack("HBBi", LONG_EVENT, 0, 0, tid) + bytes([kind]) + text.encode().ljust(120, b"\0")
    return data + bytes(-len(data) % 4)


class cpu_file:
    """Pages of one CPU. Events are put one behind the other; a page that is full is closed."""

    def __init__(self):
        self.pages, self.data, self.lost = b"", b"", None
        self.start = self.time = 0

    def put(self, nanoseconds, data, extend=False):
        time = START + nanoseconds
        size = 4 + len(data) + (0 if len(data) <= 112 else 4) + (8 if extend else 0)
        if self.data and 8 + 2 * LONG + len(self.data) + size > PAGE:
            self.close()
        if not self.data:
            self.start = self.time = time - (3 if extend else 0)
        delta = time - self.time
        self.time = time
        if extend or delta >= 1 << 27:
            self.data += word(30, delta & (1 << 27) - 1) + pack("I", delta >> 27)
            delta = 0
        if len(data) <= 112:
            self.data += word(len(data) // 4, delta) + data
        else:
            self.data += word(0, delta) + pack("I", len(data) + 4) + data

    def close(self, lost=None):
        """Ends the page; `lost` events are missing before the next one, -1 for an unknown number."""
        commit = len(self.data)
        tail = b""
        if self.lost is not None:
            commit |= 1 << 31
            if self.lost > 0:
                commit |= 1 << 30
                tail = pack("Q" if LONG == 8 else "I", self.lost)
        page = pack("Q", self.start) + pack("Q" if LONG == 8 else "I", commit) + self.data + tail
        assert len(page) <= PAGE
        self.pages += page.ljust(PAGE, b"\0")
        self.data, self.lost = b"", lost if LOST else None


def kernel_files():
    zero, one = cpu_file(), cpu_file()
    # Before the program's first function: not shown.
    zero.put(100, entry(FIRST, "do_syscall_64", 0), extend=True)
    zero.put(180, leave(FIRST, "do_syscall_64", 0))
    # Inside read() of the first task.
    zero.put(2100, entry(FIRST, "do_syscall_64", 0))
    zero.put(2150, entry(FIRST, "__x64_sys_read", 1))
    zero.put(2200, entry(FIRST, "vfs_read", 2))
    zero.put(2210, example(FIRST, -5, 0xbeef))
    zero.put(2230, entry(FIRST, "fsnotify", 3))
    zero.put(2290, leave(FIRST, "fsnotify", 3))
    zero.put(2300, entry(FIRST, "nvme_poll", 3))
    zero.put(2320, entry(OTHER, "vfs_read", 0))  # not recorded
    zero.put(2330, leave(OTHER, "vfs_read", 0))
    zero.put(2340, wide(FIRST, 7, "a text of some length"))
    zero.put(2390, leave(FIRST, "nvme_poll", 3))
    zero.put(2400, leave(FIRST, "vfs_read", 2))
    zero.put(2450, leave(FIRST, "__x64_sys_read", 1))
    zero.put(2500, leave(FIRST, "do_syscall_64", 0))
    # A fault in work(): a function that kallsyms does not name.
    zero.put(3150, entry(FIRST, 0xffffffff00000010, 0))
    zero.put(3190, leave(FIRST, 0xffffffff00000010, 0))
    # write() is left by a switch, which another task records; the task goes on at the other CPU.
    zero.put(4100, entry(FIRST, "do_syscall_64", 0))
    zero.put(4120, entry(FIRST, "ksys_write", 1))
    zero.put(4130, entry(FIRST, "schedule", 2))
    zero.put(4140, switch(FIRST, FIRST, 0))
    zero.close(lost=12)
    one.put(1500, entry(SECOND, "do_page_fault", 0))
    one.put(1600, leave(SECOND, "do_page_fault", 0))
    one.put(4600, switch(0, 0, FIRST))
    one.put(4610, leave(FIRST, "schedule", 2))
    one.put(4700, leave(FIRST, "ksys_write", 1))
    one.put(4750, leave(FIRST, "do_syscall_64", 0))
    # Loops of the first task on a page that says that 12 events were lost before it; full pages follow.
    for i in range(60):
        zero.put(6000 + 30 * i, entry(FIRST, "do_page_fault", 0))
        zero.put(6020 + 30 * i, leave(FIRST, "do_page_fault", 0))
    zero.close(lost=-1)
    zero.put(8000, entry(FIRST, "do_page_fault", 0))
    zero.put(8050, leave(FIRST, "do_page_fault", 0))
    # The end of the task: the call that does not return.
    zero.put(9500, entry(FIRST, "do_syscall_64", 0))
    zero.put(9550, entry(FIRST, "__x64_sys_exit_group", 1))
    zero.close()
    one.put(7000 + (1 << 28), entry(SECOND, "do_page_fault", 0))
    one.put(7100 + (1 << 28), leave(SECOND, "do_page_fault", 0))
    one.close()
    return zero.pages, one.pages


def record(nanoseconds, kind, depth, name):
    return struct.pack("<QQ", START + nanoseconds, kind | 5 << 3 | depth << 6 | (BASE + USER[name]) << 16)


def task_files():
    first = [(1000, 0, 0, "main"), (2000, 0, 1, "read"), (2600, 1, 1, "read"), (3000, 0, 1, "work"), (3100, 0, 2, "helper"),
             (3200, 1, 2, "helper"), (3300, 1, 1, "work"), (4000, 0, 1, "write"), (5000, 1, 1, "write"), (5900, 0, 1, "work"),
             (8900, 1, 1, "work"), (9000, 1, 0, "main")]
    late = 1 << 28
    second = [(1400, 0, 0, "work"), (1450, 0, 1, "helper"), (1700, 1, 1, "helper"), (6900 + late, 0, 1, "helper"),
              (7200 + late, 1, 1, "helper"), (7300 + late, 1, 0, "work")]
    return b"".join(record(*r) for r in first), b"".join(record(*r) for r in second)


def perf_file():
    """The task leaves its CPU inside the kernel's schedule() and comes back at the other one."""
    def moved(nanoseconds, out):
        return struct.pack("<IHHIIQ", 14, 0x2000 if out else 0, 24, FIRST, FIRST, START + nanoseconds)
    return moved(4150, True), moved(4605, False)


def info():
    features = 1 << 1 | 1 << 2 | 1 << 5 | 1 << 6 | 1 << 8
    items = 1 << 0 | 1 << 7
    head = b"Ftrace!\0" + struct.pack("<IHBBQQH6x", 4, 40, 1, 2, features, items, 1024)
    text = (f"exename:/opt/app/kernel-made\ntaskinfo:lines=2\ntaskinfo:nr_tid=2\ntaskinfo:tids={FIRST},{SECOND}\n")
    return head + text.encode()


def main():
    folder.mkdir(parents=True, exist_ok=True)
    files = {"info": info(), "kernel_header": kernel_header()}
    files["kernel-cpu0.dat"], files["kernel-cpu1.dat"] = kernel_files()
    files[f"{FIRST}.dat"], files[f"{SECOND}.dat"] = task_files()
    # The scheduler's records of a task lie where it left and came back: one file here, so that both readers agree on it.
    files["perf-cpu0.dat"] = b"".join(perf_file())
    second = START // 10**9
    files["task.txt"] = (f'SESS timestamp={second}.000000010 pid={FIRST} sid=00112233aabbccdd exename="/opt/app/kernel-made"\n'
                         f"TASK timestamp={second}.000000020 tid={FIRST} pid={FIRST}\n"
                         f"TASK timestamp={second}.000001300 tid={SECOND} pid={FIRST}\n").encode()
    files["sid-00112233aabbccdd.map"] = (
        f"{BASE:x}-{BASE + 0x10000:x} r-xp 00000000 00:00 0                          /opt/app/kernel-made\n"
        "7ffd40326000-7ffd40347000 rw-p 00000000 00:00 0                          [stack]\n").encode()
    symbols = sorted((a, "P" if a < 0x1000 else "T", n) for n, a in USER.items())
    symbols += [(0x1400, "?", "__sym_end")]
    files["kernel-made.sym"] = "".join(f"{a:016x} {t} {n}\n" for a, t, n in symbols).encode()
    lines = [(a, "t" if n == "nvme_poll" else "T", n + ("\t[nvme]" if n == "nvme_poll" else "")) for n, a in KERNEL.items()]
    lines += [(a + 0x200, "T", f"end_of_{n}") for n, a in KERNEL.items()]
    lines += [(KERNEL["__x64_sys_read"], "T", "__ia32_sys_read"), (0xffffffff82000000, "D", "some_data"), (0xffffffff82000100, "r", "some_table")]
    # The 32-bit name of a system call comes first; readers replace it.
    lines.sort(key=lambda line: (line[0], not line[2].startswith("__ia32")))
    files["kallsyms"] = "".join(f"{a:016x} {t} {n}\n" for a, t, n in lines).encode()
    files["default.opts"] = b""
    for name, data in files.items():
        (folder / name).write_bytes(data)


COMMANDS = {
    "replay.txt": ["replay"], "replay.fields.txt": ["replay", "--no-merge", "-f", "time,delta,elapsed,addr,duration,tid"],
    "report.txt": ["report"], "report.self.txt": ["report", "-s", "self,call,func"],
    "report.task.txt": ["report", "--task"], "graph.txt": ["graph"], "graph.task.txt": ["graph", "--task"], "dump.txt": ["dump"],
}


def widen(text):
    """The form of 0.19: two more characters for a task's number."""
    text = re.sub(r"\[ *(\d+)\]", lambda m: f"[{m.group(1):>7}]", text)
    text = re.sub(r"(?m)^(\d+\.\d{9})  +(\d+): ", lambda m: f"{m.group(1)}  {m.group(2):>7}: ", text)
    text = re.sub(r"(?m)^(  Total time   Self time  )(   TID)(.*\n.*)(======)(  =*  =*)$", r"\1 \2\3=\4\5", text)
    text = re.sub(r"(?m)^(  +\S+ \ws  +\S+ \ws  )( *\d+  +\d+  \S+ *)$", r"\1 \2", text)
    return text.replace("   TID  ", "   TID   ") if "Total time" not in text else text


def expected():
    program = shutil.which("uftrace")
    if program is None or "v0.13" not in subprocess.run([program, "--version"], capture_output=True, text=True).stdout:
        print("no uftrace 0.13: nothing is written to expected/")
        return
    target = folder.parent / "expected"
    target.mkdir(exist_ok=True)
    for name, words in COMMANDS.items():
        run = subprocess.run([program, *words, "--no-pager", "--color=no", "-d", str(folder)], capture_output=True, text=True,
                             env={**os.environ, "LC_ALL": "C", "TZ": "UTC"}, timeout=20)
        if run.returncode == 0:
            (target / name).write_text(widen(run.stdout))
        else:
            print(f"{name}: uftrace ended with {run.returncode}")


main()
expected()
