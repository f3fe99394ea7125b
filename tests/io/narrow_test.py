# SPDX-License-Identifier: Apache-2.0
"""Checks on a machine of 32 bits that a file over the address space is refused and not cut.

    narrow_test.py ROOT COMPILER [-isystem FOLDER]...

Exit code 77 when the compiler makes no programs of 32 bits.
"""
import errno
import os
import subprocess
import sys
import tempfile

SOURCE = """
#include <backsight/io/mapped_file.hpp>
#include <cerrno>
#include <cstdio>
int main(int count, char** words) {
  for (int i = 1; i < count; ++i) {
    errno = 0;
    const auto file = backsight::io::mapped_file::open(words[i]);
    std::printf("%d %d %llu\\n", file ? 0 : 1, file ? 0 : errno, file ? static_cast<unsigned long long>(file->bytes().size()) : 0ULL);
  }
}
"""
GIB = 1 << 30


def main():
    root, compiler, *options = sys.argv[1:]
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "open")

        def build(source, *more):
            return subprocess.run([compiler, "-std=c++20", "-m32", "-I", os.path.join(root, "include"), *options, *more, "-o", program,
                                   "-x", "c++", "-"], input=source, capture_output=True, text=True)

        def run(*words):
            return subprocess.run([program, *words], capture_output=True, text=True)
        try:
            runs = build("#include <vector>\nint main() {}\n").returncode == 0 and run().returncode == 0
        except OSError:
            runs = False
        if not runs:
            print("SKIPPED: this compiler makes no programs of 32 bits (g++-multilib), or they do not run here")
            sys.exit(77)
        # What is left of these sizes in 32 bits would fit. 2 GiB is the first one whose distances do not.
        sizes = [0, 4096, 2 * GIB, 3 * GIB, 4 * GIB, 4 * GIB + 4096, 5 * GIB]
        paths = [os.path.join(folder, str(size)) for size in sizes]
        for path, size in zip(paths, sizes):
            with open(path, "wb") as file:
                file.truncate(size)
        # With offsets of 32 bits the system itself refuses.
        for options_of_files, reason in (("-D_FILE_OFFSET_BITS=64", errno.EFBIG), ("-U_FILE_OFFSET_BITS", errno.EOVERFLOW)):
            made = build(SOURCE, options_of_files)
            if made.returncode != 0:
                problems.append(made.stderr)
                continue
            expected = [f"0 0 {size}" if size <= 4096 else f"1 {reason} 0" for size in sizes]
            found = run(*paths).stdout.splitlines()
            if found != expected:
                problems.append(f"{options_of_files}: {found} instead of {expected}")
    print("\n".join(problems))
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
