# SPDX-License-Identifier: Apache-2.0
"""Small traces made for tests: a function that calls itself, which the recorded ones do not have."""
import struct


def recursive_log(path, levels=5):
    """An XRay log of the basic mode: function 1 calls function 2, which calls itself."""
    records, tsc = [], 1000
    functions = [1] + [2] * levels
    for kind, of in [(0, one) for one in functions] + [(1, one) for one in reversed(functions)]:
        tsc += 100
        records.append(struct.pack("<HBBiQII8x", 0, 0, kind, of, tsc, 7, 7))
    with open(path, "wb") as file:
        file.write(struct.pack("<HHIQ16x", 3, 0, 3, 1000000000) + b"".join(records))
    return path


def recursive_memtrace(path, levels=5):
    """A final memtrace of one thread whose function at 0x2000 calls itself."""
    marker, instruction, call, back = 28, 10, 14, 16
    records = [(25, 0, 7), (marker, 12, 7), (marker, 9, 0xe40), (22, 4, 7), (24, 4, 7), (marker, 10, 64), (marker, 20, 1000), (marker, 18, 4096),
               (marker, 2, 13439699341710502), (marker, 3, 0), (instruction, 1, 0x1000), (call, 5, 0x1001)]
    for level in range(levels):
        records.append((instruction, 1, 0x2000))
        if level + 1 < levels:
            records.append((call, 5, 0x2001))
    for level in range(levels):
        records += [(marker, 29, 0x2006 if level + 1 < levels else 0x1006), (back, 1, 0x2006)]
    records += [(instruction, 1, 0x1006), (23, 4, 7), (26, 0, 0)]
    with open(path, "wb") as file:
        file.write(b"".join(struct.pack("<HHQ", *one) for one in records))
    return path


def log_with_arguments(path):
    """An XRay log of the basic mode: function 1 is called with an argument, and calls function 2."""
    def function(kind, of, tsc):
        return struct.pack("<HBBiQII8x", 0, 0, kind, of, tsc, 7, 7)

    records = [function(3, 1, 1100), struct.pack("<HHiIIQ8x", 1, 0, 1, 7, 7, 0x123456), function(0, 2, 1200), function(1, 2, 1250),
               function(1, 1, 1400)]
    with open(path, "wb") as file:
        file.write(struct.pack("<HHIQ16x", 3, 0, 3, 1000000000) + b"".join(records))
    return path


def _memtrace(path, kind, records):
    marker = 28
    head = [(25, 0, 7), (marker, 12, 7), (marker, 9, kind), (22, 4, 7), (24, 4, 7), (marker, 10, 64), (marker, 20, 1000), (marker, 18, 4096),
            (marker, 2, 13439699341710502), (marker, 3, 0)]
    with open(path, "wb") as file:
        file.write(b"".join(struct.pack("<HHQ", *one) for one in [*head, *records, (23, 4, 7), (26, 0, 0)]))
    return path


def memtrace_with_markers(path):
    """A final memtrace whose instructions were filtered: function 4 is called with two arguments and gives 9 back."""
    marker = 28
    return _memtrace(path, 0xe40 | 0x80, [(10, 1, 0x1000), (marker, 4, 4), (marker, 5, 0x1006), (marker, 6, 3), (marker, 6, 0x7fff00001000),
                                          (10, 1, 0x2000), (marker, 4, 4), (marker, 7, 9)])


def unfinished_memtrace(path):
    """A final memtrace that ends inside of the function at 0x2000, which called itself twice."""
    marker, instruction, call, back = 28, 10, 14, 16
    records = [(call, 5, 0x1001), (instruction, 1, 0x2000)]
    for _ in range(2):
        records += [(call, 5, 0x2001), (instruction, 1, 0x2000), (instruction, 1, 0x2001), (marker, 29, 0x2006), (back, 1, 0x2010),
                    (instruction, 1, 0x2006)]
    return _memtrace(path, 0xe40, records)


def stack_samples(stacks, build_id):
    """Stack samples of one object, at 0x401000, with a frame each."""
    objects = struct.pack("<II20s4xQ", 0, 20, bytes.fromhex(build_id), 0)
    maps = struct.pack("<II", 1, 0) + struct.pack("<QQQII", 0x401000, 0x402000, 0x1000, 0, 0)
    strings = b"/bin/it\0"
    records = b""
    for stack in stacks:
        registers = [0] * 17
        registers[7], registers[16] = 0x7000, 0x401290
        body = struct.pack("<IIIIIQQ", 1, 0, 0, len(stack), 0, 0, 0x7000) + struct.pack("<17Q", *registers) + stack
        records += struct.pack("<I", len(body) + 4) + body
    o = 96
    m, s = o + len(objects), o + len(objects) + len(maps)
    at = s + len(strings)
    head = b"STKSMP01" + struct.pack("<6I", 96, 62, 17, 1, 1, len(stacks)) + struct.pack("<5Q", o, m, s, at, at + len(records))
    return head.ljust(96, b"\0") + objects + maps + strings + records
