# SPDX-License-Identifier: Apache-2.0
"""The step of examples/bpf, compiled for BPF, over all stack samples of the corpus.

    bpf_test.py PROGRAM STEP EXAMPLES WORK [rbpf]

Without clang, BACKSIGHT_CORPUS or zstd, or for rbpf cargo and its package, it says so and ends with 77, which ctest takes for
"skipped". Without the corpus the programs are compiled all the same."""
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import corpus_samples
from corpus_samples import run, skip

program, step, examples, work, *machine = sys.argv[1:]
os.makedirs(work, exist_ok=True)

clang = [name for name in ("clang-19", "clang-16", "clang") if shutil.which(name)]
if not clang:
    skip("there is no clang: the step is not compiled for BPF")
built = []
for name in clang:
    for source in (step, os.path.join(examples, "walk.bpf.c")):
        built.append(os.path.join(work, f"{os.path.basename(source)}.{name}.o"))
        run(name, "-target", "bpf", "-mcpu=v3", "-O2", "-g", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-I", examples, "-c", source,
            "-o", built[-1])
with open(os.path.join(examples, "backsight_step.h"), encoding="utf-8") as text:
    lines = len(text.readlines())
print(f"the step has {lines} lines")
if lines >= 200:
    sys.exit(1)
if not corpus_samples.THERE:
    skip(corpus_samples.NOT_THERE)
plain = os.path.join(work, "samples.plain")
if not machine or not os.path.exists(plain):
    stk, elves = corpus_samples.unpack(work)
    for object_file in built[0::2]:
        run(program, stk, elves, object_file, plain)
if machine == ["rbpf"]:
    if not shutil.which("cargo"):
        skip("there is no cargo: the step is not run by rbpf")
    source = os.path.join(os.path.dirname(step), "rbpf")
    environment = dict(os.environ, CARGO_TARGET_DIR=os.path.join(work, "rbpf"))
    words = ["cargo", "build", "--quiet", "--release", "--locked", "--manifest-path", os.path.join(source, "Cargo.toml")]
    print("$", " ".join(words), flush=True)
    if subprocess.run(["cargo", "fetch", "--quiet", "--locked", "--manifest-path", words[-1]], env=environment).returncode != 0:
        skip("cargo cannot get rbpf: the step is not run by it")
    run(*words, env=environment)
    run(os.path.join(work, "rbpf/release/walk_by_rbpf"), plain)
