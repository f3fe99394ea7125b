# SPDX-License-Identifier: Apache-2.0
"""For tests that run programs over all stack samples of the corpus."""
import os
import shutil
import subprocess
import sys

FOLDER = os.path.join(os.environ.get("BACKSIGHT_CORPUS", ""), "stacks")
THERE = bool(os.path.isfile(os.path.join(FOLDER, "dev.stk.zst")) and shutil.which("zstd"))
NOT_THERE = "BACKSIGHT_CORPUS is not set or has no stacks, or there is no zstd"


def skip(why):
    """Ends the test with what ctest takes for "skipped"."""
    print(why)
    sys.exit(77)


def run(*words, **options):
    """Ends the test where a program fails."""
    print("$", " ".join(words), flush=True)
    if subprocess.run(words, check=False, **options).returncode != 0:
        sys.exit(1)


def unpack(work):
    """The samples and the folder of the mapped files, unpacked below `work`."""
    samples, elves = os.path.join(work, "dev.stk"), os.path.join(work, "dev-elf")
    os.makedirs(elves, exist_ok=True)
    run("zstd", "-dqf", os.path.join(FOLDER, "dev.stk.zst"), "-o", samples)
    run("sh", "-c", f"zstd -dqc '{FOLDER}/dev-elf.tar.zst' | tar -C '{elves}' -xf -")
    return samples, elves
