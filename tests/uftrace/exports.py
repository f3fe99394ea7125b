#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks what `backsight export --to perfetto|dot` writes of uftrace directories against the counts of `backsight report`.

Usage: exports.py PROGRAM FOLDER
"""
import collections
import json
import pathlib
import re
import subprocess
import sys

# Directories whose functions all return, so that begins, ends and counted calls are the same.
NAMES = ("single-pg", "args-spec", "bigendian-derived", "dlopen-pg", "sdt")
SLICE_BEGIN, SLICE_END = 1, 2


def run(*words):
    return subprocess.run(words, capture_output=True, check=True, timeout=120).stdout


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        shift += 7
        at += 1
        if byte < 0x80:
            return value, at


def fields(data):
    """The fields of a protobuf message: number and value, an int or bytes."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        value, at = varint(data, at)
        if key & 7 == 2:
            value, at = data[at:at + value], at + value
        else:
            assert key & 7 == 0, "no other wire type is written"
        yield key >> 3, value


def read_perfetto(data):
    """Begins by name, and how many slices are open at the end; checks order and nesting on each track."""
    names, begins, stacks, times = {}, collections.Counter(), collections.defaultdict(list), {}
    tracks = {}
    for number, packet in fields(data):
        assert number == 1, "a trace is a row of packets"
        parts = collections.defaultdict(list)
        for field, value in fields(packet):
            parts[field].append(value)
        for interned in parts[12]:
            for _, entry in fields(interned):
                pair = dict(fields(entry))
                names[pair[1]] = pair[2].decode()
        for descriptor in parts[60]:
            pair = dict(fields(descriptor))
            if 4 in pair:  # Others are of processes.
                tracks[pair[1]] = dict(fields(pair[4]))
        for event in parts[11]:
            pair = dict(fields(event))
            track = pair[11]
            assert track in tracks, "a track is described before it is used"
            assert parts[8][0] >= times.get(track, 0), "times of a track do not go back"
            times[track] = parts[8][0]
            if pair[9] == SLICE_BEGIN:
                begins[names[pair[10]]] += 1
                stacks[track].append(pair[10])
            else:
                assert pair[9] == SLICE_END
                stacks[track].pop()
    return begins, sum(map(len, stacks.values())), tracks


def read_dot(text):
    counts = {}
    for name, count in re.findall(r'^  f\d+ \[label="(.*)\\n(\d+) calls?, self \d+ ns"\];$', text, re.M):
        counts[name.replace('\\"', '"')] = int(count)
    edges = re.findall(r'^  f\d+ -> f\d+ \[label="(\d+) calls?, (\d+) ns"\];$', text, re.M)
    return counts, edges


def main():
    if len(sys.argv) != 3:
        print(__doc__)
        return 2
    program, data = sys.argv[1], pathlib.Path(sys.argv[2])
    for name in NAMES:
        directory = str(data / name / "uftrace.data")
        report = json.loads(run(program, "report", "--format", "json", directory))["rows"]
        expected = {row["function"]: row["count"] for row in report if not row["function"].startswith("linux:")}
        begins, still_open, tracks = read_perfetto(run(program, "export", "--to", "perfetto", directory))
        assert begins == expected, (name, begins, expected)
        assert still_open == 0, (name, still_open)
        tids = {int(p.stem) for p in (data / name / "uftrace.data").glob("[0-9]*.dat") if p.stat().st_size}
        assert {t[2] for t in tracks.values()} == tids, (name, tracks, tids)
        counts, edges = read_dot(run(program, "export", "--to", "dot", directory).decode())
        assert counts == expected, (name, counts, expected)
        assert edges, name
        filtered, _, _ = read_perfetto(run(program, "export", "--to", "perfetto", "-D", "1", directory))
        assert 0 < sum(filtered.values()) < sum(begins.values()), (name, filtered)
    print(f"{len(NAMES)} directories agree")
    return 0


if __name__ == "__main__":
    sys.exit(main())
