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
