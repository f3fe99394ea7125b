# SPDX-License-Identifier: Apache-2.0
"""Compiles the Kaitai Struct declarations that backsight makes of formats, reads files with them, and compares every value with ours.

    python3 kaitai_test.py PROGRAM FORMAT=FILE...

PROGRAM is tests/emit/declared. Needs node, the npm package kaitai-struct-compiler (in NODE_PATH, in the global folder of npm or in the folder
that BACKSIGHT_KAITAI names), and the Python packages kaitaistruct and yaml; exit code 77 with words where one is missing.
"""
import enum
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile

COMPILE = """
const compiler = require("kaitai-struct-compiler");
const source = JSON.parse(require("fs").readFileSync(0, "utf8"));
compiler.compile("python", source, null, false).then(
  files => process.stdout.write(JSON.stringify(files)), error => { console.error(String(error)); process.exit(1); });
"""
# Which value of a number of seven bits a byte is meant.
VARINTS = {"balance": "signed_bits", "zig": "zigzag"}


def skip(why):
    print(f"the compiled declarations are not compared: {why}")
    sys.exit(77)


def environment():
    folders = [os.environ.get("NODE_PATH", "")]
    if "BACKSIGHT_KAITAI" in os.environ:
        folders.insert(0, os.path.join(os.environ["BACKSIGHT_KAITAI"], "node_modules"))
    if shutil.which("npm"):
        folders.append(subprocess.run(["npm", "root", "-g"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout.strip())
    return {**os.environ, "NODE_PATH": os.pathsep.join(folder for folder in folders if folder)}


class Values:
    """What `declared values` prints: KIND{name=value ...}; bytes as x and digits, several values as [value;...]."""

    def __init__(self, text):
        self.text, self.at = text, 0

    def word(self, ends):
        begin = self.at
        while self.text[self.at] not in ends:
            self.at += 1
        return self.text[begin:self.at]

    def record(self):
        kind = int(self.word("{"))
        self.at += 1
        members = self.members("}")
        self.at += 1
        return kind, members

    def members(self, end):
        found = []
        while self.text[self.at] != end:
            name = self.word("=")
            self.at += 1
            found.append((name, self.value()))
            self.at += 1  # the blank
        return found

    def value(self):
        if self.text[self.at] != "[":
            return self.word(" ;")
        self.at += 1
        found = []
        while self.text[self.at] != "]":
            rest = self.text[self.at:]
            stop = min(rest.find(c) for c in "{=;" if c in rest)
            found.append(self.record() if rest[stop] == "{" else self.members(";") if rest[stop] == "=" else self.word(";"))
            self.at += 1
        self.at += 1
        return found


class Differ(Exception):
    pass


def differ(where, ours, theirs):
    raise Differ(f"{where}: {ours} here, {theirs} there")


def compare_members(members, theirs, where):
    # A record that tells its size stands in bytes of its own.
    if hasattr(theirs, "body"):
        theirs = theirs.body
    for name, value in members:
        if not hasattr(theirs, name):
            differ(f"{where}.{name}", value, "nothing")
        compare(value, getattr(theirs, name), name, f"{where}.{name}")
    return len(members)


def compare(ours, theirs, name, where):
    if isinstance(ours, list):
        theirs = getattr(theirs, "records", theirs)
        if not isinstance(theirs, list):
            compare_members(ours, theirs, where)
        elif len(ours) != len(theirs):
            differ(where, f"{len(ours)} values", f"{len(theirs)} values")
        else:
            for i, (one, other) in enumerate(zip(ours, theirs)):
                compare(one, other, name, f"{where}[{i}]")
    elif isinstance(ours, tuple):
        if ours[0] != theirs.kind:
            differ(where, f"kind {ours[0]}", f"kind {theirs.kind}")
        compare_members(ours[1], theirs.body, where)
    elif isinstance(theirs, bytes):
        if ours != "x" + theirs.hex():
            differ(where, ours, theirs.hex())
    else:
        if hasattr(theirs, "groups"):
            theirs = getattr(theirs, VARINTS.get(name, "bits"))
        if isinstance(theirs, enum.Enum):
            theirs = theirs.value
        text = f"{theirs:.6g}" if isinstance(theirs, float) else str(int(theirs))
        if ours != text:
            differ(where, ours, text)


def compare_records(ours, theirs, where):
    if len(ours) != len(theirs) or not ours:
        differ(where, f"{len(ours)} records", f"{len(theirs)} records")
    values = 0
    for i, (line, other) in enumerate(zip(ours, theirs)):
        kind, members = Values(line).record()
        if kind != other.kind:
            differ(f"{where}[{i}]", f"kind {kind}", f"kind {other.kind}")
        values += compare_members(members, other.body, f"{where}[{i}]")
    return values


def main():
    program, *pairs = sys.argv[1:]
    try:
        import yaml
        import kaitaistruct
    except ImportError as missing:
        skip(f"no Python package {missing.name}")
    if shutil.which("node") is None:
        skip("no node")
    env = environment()
    if subprocess.run(["node", "-e", 'require("kaitai-struct-compiler")'], env=env, stderr=subprocess.DEVNULL).returncode != 0:
        skip("no npm package kaitai-struct-compiler")
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        for pair in pairs:
            name, _, path = pair.partition("=")
            source = subprocess.run([program, "kaitai", name], stdout=subprocess.PIPE, text=True, check=True).stdout
            compiled = subprocess.run(["node", "-e", COMPILE], input=json.dumps(yaml.safe_load(source)), stdout=subprocess.PIPE, text=True, env=env)
            if compiled.returncode != 0:
                print(f"{name}.ksy does not compile")
                bad += 1
                continue
            (file, code), = json.loads(compiled.stdout).items()
            with open(os.path.join(folder, file), "w") as out:
                out.write(code)
            spec = importlib.util.spec_from_file_location(name, os.path.join(folder, file))
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            if not path:
                path = os.path.join(folder, name + ".bin")
                with open(path, "wb") as out:
                    subprocess.run([program, "sample", name], stdout=out, check=True)
            values = subprocess.run([program, "values", name, path], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
            reader = getattr(module, "".join(word.capitalize() for word in name.split("_")))
            try:
                theirs = reader.from_file(path)
                print(f"{name} {path}: {len(values)} records, {compare_records(values, theirs.content.records, name)} values are the same")
            except (Differ, kaitaistruct.KaitaiStructError, EOFError) as error:
                print(f"{name} {path}: {error}")
                bad += 1
    sys.exit(1 if bad else 0)


main()
