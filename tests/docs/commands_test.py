# SPDX-License-Identifier: Apache-2.0
"""The shell commands of a page do what it says: those of each section are run in a folder of their own.

    commands_test.py PROGRAM SECTION

SECTION is one of those below. Ends with 77 after saying which tool is missing.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))

# Page and heading, the tools, and what is to be in the output.
SECTIONS = {
    "xray-basic": ("recording.md", "XRay", ["clang++"], ["work(unsigned int)", "mix(unsigned int, unsigned int)"]),
    "xray-fdr": ("recording.md", "XRay's flight data recorder", ["clang++"], ["work(unsigned int)", "mix(unsigned int, unsigned int)"]),
    "uftrace": ("recording.md", "uftrace", ["g++", "uftrace"], ["  fib", "work(", "fib(10)"]),
    "cmake": ("install.md", "CMake", ["cmake", "c++"], ["backsight 0."]),
    "fetch": ("install.md", "FetchContent, or a subproject", ["cmake", "c++"], ["backsight 0."]),
    "pkgconfig": ("install.md", "pkg-config", ["cmake", "c++", "pkg-config"], ["backsight 0."]),
    "perf": ("recording.md", "perf", ["g++", "perf"], [" mix\n", ";main;work"]),
}


def section(page, heading):
    """The shell commands below a heading of a page."""
    with open(os.path.join(ROOT, "docs", page), encoding="utf-8") as file:
        text = file.read()
    found = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE)
    if not found:
        sys.exit(f"{page} has no section {heading}")
    blocks = re.findall(r"^```sh\n(.*?)^```$", found.group(1), re.DOTALL | re.MULTILINE)
    if not blocks:
        sys.exit(f"section {heading} of {page} has no commands")
    return "".join(blocks)


def newest(tool):
    """The tool, or that of the newest version that has a number in its name."""
    if shutil.which(tool):
        return shutil.which(tool)
    for version in range(30, 12, -1):
        if shutil.which(f"{tool}-{version}"):
            return shutil.which(f"{tool}-{version}")
    return None


def main():
    program, name = sys.argv[1:]
    page, heading, tools, wanted = SECTIONS[name]
    with tempfile.TemporaryDirectory() as work:
        bin_folder = os.path.join(work, "bin")
        folder = os.path.join(work, "work")
        os.mkdir(bin_folder)
        os.mkdir(folder)
        for tool in tools:
            path = newest(tool)
            if path is None:
                print(f"SKIPPED: {tool} is not installed")
                sys.exit(77)
            os.symlink(path, os.path.join(bin_folder, tool))
        os.symlink(program, os.path.join(bin_folder, "backsight"))
        os.symlink(ROOT, os.path.join(folder, "backsight"))
        shutil.copy(os.path.join(HERE, "recording", "program.cpp"), folder)
        environment = {**os.environ, "PATH": bin_folder + ":" + os.environ["PATH"], "HOME": work}
        # Where make is not installed, what built the program is.
        if not shutil.which("make"):
            environment.setdefault("CMAKE_GENERATOR", "Ninja")
        if name == "perf":
            may = subprocess.run(["perf", "record", "-q", "-e", "cpu-clock", "-o", os.path.join(work, "try"), "true"], capture_output=True, text=True, errors="replace")
            if may.returncode != 0:
                print("SKIPPED: perf cannot record here: " + may.stderr.strip())
                sys.exit(77)
        done = subprocess.run(["sh", "-ex"], input=section(page, heading), capture_output=True, text=True, errors="replace", cwd=folder, env=environment)
        print(done.stderr + done.stdout)
        if done.returncode != 0:
            sys.exit(f"ends with {done.returncode}")
        missing = [text for text in wanted if text not in done.stdout]
        if missing:
            sys.exit(f"not in the output: {missing}")


if __name__ == "__main__":
    main()
