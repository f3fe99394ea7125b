# SPDX-License-Identifier: Apache-2.0
"""Compares what an example of examples/formats prints with the output of an independent tool: with what is stored of it, and with the
tool itself where it is installed.

    python3 agreement.py pcapng|protobuf|debug_line PROGRAM FILE...

The output of the tool for FILE is stored as FILE.txt; BACKSIGHT_UPDATE_GOLDEN=1 in the environment rewrites it with the tool's.
"""
import difflib
import os
import re
import shutil
import subprocess
import sys

FIELDS = ["number", "section_number", "interface_name", "time_epoch", "cap_len", "len", "comment"]
TOOLS = {
    "pcapng": lambda file: ["tshark", "-r", file, "-T", "fields"] + [word for name in FIELDS for word in ("-e", "frame." + name)],
    "protobuf": lambda file: ["protoc", "--decode_raw"],
    "debug_line": lambda file: ["readelf", "--debug-dump=rawline", file],
}


def normal(kind, text):
    """Versions of readelf head their tables differently; what the lines say is the same."""
    if kind != "debug_line":
        return text.splitlines()
    lines = [re.sub(r"\s+", " ", line).strip() for line in text.splitlines()]
    title = re.compile(r"Entry |Tables:$|The (Directory|File Name) Table")
    return [line for line in lines if line and not title.match(line)]


def run(command, file):
    with open(file, "rb") as source:
        done = subprocess.run(command, stdin=source, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return done.returncode, done.stdout.decode(errors="replace")


def main():
    kind, program, *files = sys.argv[1:]
    bad = 0
    for file in files:
        stored = file + ".txt"
        tool = TOOLS[kind](file)
        others = []
        if shutil.which(tool[0]) is None:
            print(f"{tool[0]} is not installed: {file} is compared with what is stored of it alone")
        else:
            code, text = run(tool, file)
            if code != 0:
                print(f"{tool[0]} ends with exit code {code}: {file} is compared with what is stored of it alone")
            else:
                if os.environ.get("BACKSIGHT_UPDATE_GOLDEN") == "1":
                    with open(stored, "w") as out:
                        out.write(text)
                others.append((tool[0], text))
        with open(stored) as source:
            others.append((stored, source.read()))
        code, ours = run([program, file], file)
        if code != 0:
            print(f"{program} {file} ends with exit code {code}")
            bad += 1
        for name, text in others:
            difference = list(difflib.unified_diff(normal(kind, text), normal(kind, ours), name, program, lineterm=""))
            if difference or not normal(kind, text):
                print("\n".join(difference[:40]) or f"{name} says nothing")
                bad += 1
    sys.exit(1 if bad else 0)


main()
