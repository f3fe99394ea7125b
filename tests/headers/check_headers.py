# SPDX-License-Identifier: Apache-2.0
"""Checks that need no compiled test: which header includes which, that every header is listed, the version, and how much
a header costs to include.

    python3 check_headers.py ROOT layers
    python3 check_headers.py ROOT directives
    python3 check_headers.py ROOT list
    python3 check_headers.py ROOT tested
    python3 check_headers.py ROOT version
    python3 check_headers.py ROOT budget COMPILER [-isystem FOLDER]...
    python3 check_headers.py ROOT narrow COMPILER [-isystem FOLDER]...

ROOT is the folder of the project. Every check prints what it found wrong and ends with exit code 1, or 77 when it cannot run.
"""
import fnmatch
import os
import re
import shutil
import subprocess
import sys

# Which folders of include/backsight a folder may include, beside itself.
FORMATS = ["elf", "xray", "uftrace", "memtrace", "perf", "dwarf"]
MAY_INCLUDE = {
    "core": [],
    "names": ["core"],
    "ftrace": ["core"],
    **{name: ["core"] for name in FORMATS},
    "uftrace": ["core", "names", "ftrace"],
    "cfi": ["core", "dwarf", "elf"],
    "analysis": ["core"],
    "emit": ["core", "analysis", "cfi", "dwarf"],
    "io": ["core", "names", "ftrace", *[name for name in FORMATS]],
}
# Arrows that single headers may have beside those.
EXTRA_ARROWS = {
    "xray/instr_map.hpp": ["elf"],
    "xray/names.hpp": ["elf"],
    # Stacks of samples are unwound with tables of the mapped files, and named by their symbols.
    "perf/registers.hpp": ["cfi"],
    "perf/unwinder.hpp": ["cfi", "elf"],
    "perf/symbol_places.hpp": ["elf"],
    # Raw data of tracepoints is described as in traces of the kernel.
    "perf/tracing_data.hpp": ["ftrace"],
    "uftrace/files/elf_symbols.hpp": ["elf"],
}

# Folders whose umbrella includes all that lies directly in them.
WHOLE_UMBRELLAS = ["memtrace", "uftrace", "xray"]

# Costly to include, or not usable without exceptions: not in the layers below analysis, emit and io, but for names, which are made.
FORBIDDEN = {"iostream", "sstream", "memory", "ranges", "regex", "functional", "string", "variant", "format"}
FREE_FOLDERS = {"analysis", "emit", "io", "names"}
# Texts that are compared as a whole.
FREE_HEADERS = {"cfi/row_text.hpp"}
# Of these formats only the records and their ranges; sessions (many files put together) and analyzers may use what they need.
RECORDS_ONLY = {
    "ftrace": {"schema.hpp", "pages.hpp", "event_format.hpp", "ftrace.hpp"},
    "xray": {"schema.hpp", "records.hpp", "trace.hpp", "blocks.hpp", "event.hpp", "events.hpp", "index.hpp", "instr_map.hpp",
             "profile_schema.hpp", "profile.hpp", "xray.hpp"},
    "uftrace": {"schema.hpp", "records.hpp", "files/task_list.hpp", "files/info.hpp"},
    "memtrace": {"schema.hpp", "raw_schema.hpp", "types.hpp", "raw_records.hpp", "records.hpp", "findings.hpp", "pc_set.hpp"},
    "perf": {"schema.hpp", "record_head.hpp", "kernel_schema.hpp", "user_schema.hpp", "words.hpp", "records.hpp", "sample_layout.hpp", "samples.hpp",
             "attributes.hpp", "features.hpp", "trace.hpp", "merged_records.hpp", "round_queue.hpp", "jitdump.hpp", "perf.hpp"},
}
# The only header of Boost, and who may include headers of the operating system.
BOOST = {"boost/endian/conversion.hpp"}
SYSTEM_HEADER_FOLDERS = {"io"}
SYSTEM_HEADERS = {"cfi/in_process.hpp": {"dlfcn.h", "link.h"}, "cfi/table_search.hpp": {"emmintrin.h"}}


def headers(root):
    """The paths of all headers below include/backsight, relative to it, with forward slashes."""
    base = os.path.join(root, "include", "backsight")
    for folder, _, files in os.walk(base):
        for name in files:
            yield os.path.relpath(os.path.join(folder, name), base).replace(os.sep, "/")


def is_strict(own, header):
    if own in RECORDS_ONLY:
        return header.split("/", 1)[1] in RECORDS_ONLY[own]
    return own not in FREE_FOLDERS and header not in FREE_HEADERS


def check_layers(root):
    problems = []
    for header in sorted(headers(root)):
        own = header.split("/")[0] if "/" in header else ""
        text = open(os.path.join(root, "include", "backsight", header), encoding="utf-8").read()
        problems += problems_of_header(header, own, text)
    return problems


def problems_of_header(header, own, text):
    problems = []
    depth = 0
    if "#pragma once" not in text:
        problems.append(f"{header}: lacks #pragma once")
    if not text.startswith("// SPDX-License-Identifier: Apache-2.0\n"):
        problems.append(f"{header}: lacks the SPDX line")
    for number, line in enumerate(text.splitlines(), 1):
        at = f"{header}:{number}"
        if re.match(r"\s*#\s*if", line):
            depth += 1
        if re.match(r"\s*#\s*endif", line):
            depth -= 1
        match = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
        if not match:
            continue
        bracket, name = match.groups()
        if bracket != "<":
            problems.append(f"{at}: includes {name} without angle brackets")
        if depth != 0 and name not in SYSTEM_HEADERS.get(header, set()):
            problems.append(f"{at}: includes {name} under a condition")
        if name.startswith("backsight/"):
            target = name.split("/")[1] if name.count("/") > 1 else ""
            allowed = [own, *MAY_INCLUDE.get(own, []), *EXTRA_ARROWS.get(header, [])]
            if header == "backsight.hpp" or name == "backsight/version.hpp":
                continue  # The umbrella may include everything, everything the version.
            if own not in MAY_INCLUDE:
                problems.append(f"{at}: the folder {own} belongs to no layer; add it to MAY_INCLUDE")
            elif target not in allowed:
                problems.append(f"{at}: {own} must not include {target or 'the umbrella'} ({name})")
        elif name.startswith("boost/"):
            if name not in BOOST:
                problems.append(f"{at}: of Boost only {', '.join(sorted(BOOST))} is allowed, not {name}")
        elif "." in name or "/" in name:
            if own not in SYSTEM_HEADER_FOLDERS and name not in SYSTEM_HEADERS.get(header, set()):
                problems.append(f"{at}: {own or 'this header'} must not include the system header {name}")
        elif name in FORBIDDEN and is_strict(own, header):
            problems.append(f"{at}: {own} must not include <{name}>")
    return problems


def check_directives(root):
    """C++20 takes a line that begins with `module` or `import` for a directive of the preprocessor. The emitted C code is a
    part of a header here, and users copy the examples."""
    problems = []
    for top in ("include", "examples"):
        for folder, _, files in os.walk(os.path.join(root, top)):
            for name in sorted(files):
                if name.endswith((".hpp", ".cpp", ".h")):
                    path = os.path.join(folder, name)
                    problems += directives_of(os.path.relpath(path, root), open(path, encoding="utf-8").read())
    return problems


def directives_of(name, text):
    found = ((number, re.match(r"\s*(?:export\s+)?(module|import)\b", line)) for number, line in enumerate(text.splitlines(), 1))
    return [f"{name}:{number}: begins with `{match.group(1)}`, which C++20 may take for a directive" for number, match in found if match]


def check_list(root):
    text = open(os.path.join(root, "cmake", "headers.cmake"), encoding="utf-8").read()
    listed = re.findall(r"^\s*include/backsight/(\S+)$", text, re.MULTILINE)
    present = set(headers(root))
    problems = [f"{name}: not listed in cmake/headers.cmake" for name in sorted(present - set(listed))]
    problems += [f"{name}: listed in cmake/headers.cmake, but not there" for name in sorted(set(listed) - present)]
    for folder in WHOLE_UMBRELLAS:
        umbrella = f"{folder}/{folder}.hpp"
        text = open(os.path.join(root, "include", "backsight", umbrella), encoding="utf-8").read()
        parts = {name for name in present if name.startswith(folder + "/") and name.count("/") == 1} - {umbrella}
        problems += [f"{umbrella}: lacks {name}" for name in sorted(parts - set(re.findall(r"#include <backsight/([^>]+)>", text)))]
    problems += [f"{name}: listed twice in cmake/headers.cmake" for name in sorted({n for n in listed if listed.count(n) > 1})]
    return problems


# Includes of others only, and the version: the checks of this file are their tests.
UNTESTED = {"backsight.hpp", "version.hpp"}
STANDS_FOR = re.compile(r"^(?://|#) Stands for (.+)$", re.MULTILINE)


def check_tested(root):
    """Each header has a test of its name in the folder of tests that has its own, or is named by a line of a test that includes
    it, by itself or through others: `// Stands for cfi/frame.hpp, cfi/unwind_rule.hpp`. What only the program uses is named by a test
    of the program: `# Stands for elf/lay_out.hpp`."""
    def read(path):
        return open(path, encoding="utf-8").read()

    present = set(headers(root))
    includes = {name: includes_of(read(os.path.join(root, "include", "backsight", name))) for name in present}
    tests, problems, named = {}, [], set()
    for folder, _, files in os.walk(os.path.join(root, "tests")):
        for name in files:
            path = os.path.join(folder, name)
            if name.endswith((".cpp", ".hpp", ".py", ".c")):
                tests[os.path.relpath(path, os.path.join(root, "tests")).replace(os.sep, "/")] = read(path)
    for test, text in sorted(tests.items()):
        stood_for = [name for line in STANDS_FOR.findall(text) for name in re.split(r",\s*", line.strip())]
        if not stood_for:
            continue
        reached = reached_from(test, text, tests, includes)
        for name in stood_for:
            if name not in present:
                problems.append(f"tests/{test}: stands for {name}, which is no header")
            elif test.endswith(".cpp") and name not in reached:
                problems.append(f"tests/{test}: stands for {name}, but does not include it")
            elif own_tests(name) & tests.keys():
                problems.append(f"tests/{test}: stands for {name}, which has a test of its own")
            named.add(name)
    for name in sorted(present - named - UNTESTED):
        folder, _, file = name.rpartition("/")
        if file != folder.split("/")[-1] + ".hpp" and not own_tests(name) & tests.keys():
            problems.append(f"{name}: has no test of its name, and no test says that it stands for it")
    return problems


def own_tests(header):
    """Where the test of that name may be; those of `detail` folders lie beside the others."""
    test = header[: -len(".hpp")] + "_test.cpp"
    return {test, test.replace("/detail/", "/")}


def includes_of(text):
    return set(re.findall(r"^\s*#\s*include\s*<backsight/([^>]+)>", text, re.MULTILINE))


def reached_from(test, text, tests, includes):
    """The headers that a test includes, by itself, through its helpers and through headers."""
    waiting, seen = includes_of(text), set()
    for helper in re.findall(r'^\s*#\s*include\s*[<"]([^<>"]+)[">]', text, re.MULTILINE):
        for path in (helper, os.path.normpath(os.path.join(os.path.dirname(test), helper)).replace(os.sep, "/")):
            if path in tests and path != test:
                waiting |= reached_from(path, tests[path], tests, includes)
                break
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting |= includes.get(name, set())
    return seen


def check_version(root):
    project = open(os.path.join(root, "CMakeLists.txt"), encoding="utf-8").read()
    stated = re.search(r"project\(backsight VERSION (\d+)\.(\d+)\.(\d+)", project).groups()
    header = open(os.path.join(root, "include", "backsight", "version.hpp"), encoding="utf-8").read()
    found = tuple(re.search(rf"#define BACKSIGHT_VERSION_{part} (\d+)", header).group(1) for part in ("MAJOR", "MINOR", "PATCH"))
    problems = []
    if found != stated:
        problems.append(f"version.hpp says {'.'.join(found)}, CMakeLists.txt {'.'.join(stated)}")
    for path, pattern in (("conanfile.py", r'version = "([^"]+)"'), ("packaging/vcpkg/ports/backsight/vcpkg.json", r'"version": "([^"]+)"')):
        other = re.search(pattern, open(os.path.join(root, path), encoding="utf-8").read())
        if other is None or other.group(1) != ".".join(stated):
            problems.append(f"{path} says {other and other.group(1)}, CMakeLists.txt {'.'.join(stated)}")
    return problems


def check_budget(root, compiler, options):
    version = subprocess.run([compiler, "-dumpfullversion"], capture_output=True, text=True)
    macros = subprocess.run([compiler, "-dM", "-E", "-x", "c++", os.devnull], capture_output=True, text=True).stdout
    if "__clang__" in macros or not version.stdout.startswith("12."):
        print("SKIPPED: the budgets are lines of GCC 12's preprocessor, and this compiler is another one")
        sys.exit(77)
    rows = []
    table = os.path.join(os.path.dirname(os.path.abspath(__file__)), "budget.txt")
    for line in open(table, encoding="utf-8"):
        words = line.split("#")[0].split()
        if words:
            rows.append((words[0], int(words[1])))
    problems = []
    for header in sorted(headers(root)):
        limit = next((limit for pattern, limit in rows if fnmatch.fnmatchcase(header, pattern)), None)
        if limit is None:
            problems.append(f"{header}: has no row in tests/headers/budget.txt")
            continue
        source = f"#include <backsight/{header}>\n"
        done = subprocess.run([compiler, "-std=c++20", "-E", "-P", "-I", os.path.join(root, "include"), *options, "-x", "c++", "-"],
                              input=source, capture_output=True, text=True)
        if done.returncode != 0:
            problems.append(f"{header}: cannot be preprocessed: {done.stderr.strip()}")
            continue
        lines = done.stdout.count("\n")
        print(f"{lines:6} of {limit:6}  {header}")
        if lines > limit:
            problems.append(f"{header}: {lines} preprocessed lines, its budget is {limit}")
    return problems


def check_narrow(root, compiler, options):
    """Every header compiles without a warning for a machine of 32 bits, but for those that walk the own process."""
    command = [compiler, "-std=c++20", "-m32", "-fsyntax-only", "-Wall", "-Wextra", "-Wconversion", "-Wsign-conversion", "-Wshadow",
               "-Wpedantic", "-Werror", "-I", os.path.join(root, "include"), *options, "-x", "c++", "-"]

    def compiled(source):
        return subprocess.run(command, input=source, capture_output=True, text=True)
    if compiled("#include <vector>\n").returncode != 0:
        print("SKIPPED: this compiler has no library for 32 bits (g++-multilib)")
        sys.exit(77)
    own_process = set()
    includes = {}
    for header in headers(root):
        text = open(os.path.join(root, "include", "backsight", header), encoding="utf-8").read()
        includes[header] = re.findall(r"^#include <([^>]+)>", text, re.MULTILINE)
        if re.search(r"\busing native_arch\b", text):
            own_process.add(header)
    while True:
        more = {h for h, names in includes.items() if any(f"backsight/{name}" in names for name in own_process)} - own_process
        if not more:
            break
        own_process |= more
    source = ""
    for header in sorted(set(includes) - own_process):
        libraries = [name for name in includes[header] if "." in name and not name.startswith(("backsight/", "boost/"))]
        there = " && ".join(f"__has_include(<{name}>)" for name in libraries) or "1"
        source += f"#if {there}\n#include <backsight/{header}>\n#endif\n"
    print(f"{len(includes) - len(own_process)} headers; not {', '.join(sorted(own_process))}")
    return compiled(source).stderr.splitlines()


def source_files(root, *endings):
    """The paths of the source files of the project with these endings."""
    for top in ("include", "examples", "tests", "bench", "fuzz", "test_package"):
        for folder, _, files in os.walk(os.path.join(root, top)):
            yield from (os.path.join(folder, name) for name in sorted(files) if name.endswith(endings))


def check_columns(root):
    """No line of a source file is longer than the ColumnLimit of .clang-format."""
    with open(os.path.join(root, ".clang-format"), encoding="utf-8") as file:
        limit = int(re.search(r"^ColumnLimit: (\d+)$", file.read(), re.M).group(1))
    count = 0
    for path in source_files(root, ".hpp", ".cpp", ".h"):
        count += 1
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if len(line.rstrip("\n")) > limit:
                    yield f"{os.path.relpath(path, root)}:{number}: {len(line) - 1} columns, at most {limit}"
    if count == 0:
        yield "no source files"


def check_format(root):
    """clang-format changes no file: the version that .clang-format names, because each lays out a little differently."""
    with open(os.path.join(root, ".clang-format"), encoding="utf-8") as file:
        tool = re.search(r"clang-format-\d+", file.read()).group()
    if shutil.which(tool) is None:
        print(f"there is no {tool}")
        sys.exit(77)
    files = list(source_files(root, ".hpp", ".cpp"))
    print(f"{len(files)} files")
    result = subprocess.run([tool, "--dry-run", "-Werror", *files], capture_output=True, text=True, check=False)
    if result.returncode == 0 and files:
        return []
    return [line for line in result.stderr.splitlines() if "error:" in line] or [f"{tool} failed: {result.stderr}"]


def main():
    root, what = sys.argv[1:3]
    if what in ("budget", "narrow"):
        problems = {"budget": check_budget, "narrow": check_narrow}[what](root, sys.argv[3], sys.argv[4:])
    else:
        checks = {"layers": check_layers, "directives": check_directives, "list": check_list, "tested": check_tested,
                  "version": check_version, "columns": check_columns, "format": check_format}
        problems = checks[what](root)
    problems = list(problems)
    for problem in problems:
        print(problem)
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
