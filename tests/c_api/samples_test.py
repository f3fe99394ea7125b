# SPDX-License-Identifier: Apache-2.0
"""All stack samples of the corpus through the C interface, from C++, Rust and Go.

    samples_test.py SAMPLES LIBRARY-FOLDER EXAMPLES WORK [rust|go]

Without BACKSIGHT_CORPUS, or zstd, or the language's compiler it says so and ends with 77, which ctest takes for "skipped". Rust and Go
walk their own stacks without the corpus too."""
import os
import shutil
import subprocess
import sys

program, library, examples, work, *language = sys.argv[1:]
corpus = os.path.join(os.environ.get("BACKSIGHT_CORPUS", ""), "stacks")
have_corpus = os.path.isfile(os.path.join(corpus, "dev.stk.zst")) and shutil.which("zstd")
plain = os.path.join(work, "samples.plain")
os.makedirs(work, exist_ok=True)


def skip(why):
    print(why)
    sys.exit(77)


def run(*words, **options):
    print("$", " ".join(words), flush=True)
    if subprocess.run(words, **options).returncode != 0:
        sys.exit(1)


def make_plain():
    stk, elves = os.path.join(work, "dev.stk"), os.path.join(work, "dev-elf")
    if not os.path.exists(elves):
        os.makedirs(elves)
        run("zstd", "-dqf", os.path.join(corpus, "dev.stk.zst"), "-o", stk)
        run("sh", "-c", f"zstd -dqc '{corpus}/dev-elf.tar.zst' | tar -C '{elves}' -xf -")
    run(program, stk, elves, plain + ".new")
    os.replace(plain + ".new", plain)


if not language:
    if not have_corpus:
        skip("BACKSIGHT_CORPUS is not set or has no stacks, or there is no zstd")
    make_plain()
    sys.exit(0)

if have_corpus and not os.path.exists(plain):
    make_plain()
samples = [plain] if have_corpus else []
environment = dict(os.environ, LD_LIBRARY_PATH=library)
if language == ["rust"]:
    if not shutil.which("cargo"):
        skip("there is no cargo: the Rust program is not tested")
    environment.update(BACKSIGHT_UNWIND=library, CARGO_TARGET_DIR=os.path.join(work, "rust"))
    run("cargo", "build", "--quiet", "--offline", "--release", "--manifest-path", os.path.join(examples, "rust/Cargo.toml"), env=environment)
    run(os.path.join(work, "rust/release/walk_samples"), *samples, env=environment)
else:
    if not shutil.which("go"):
        skip("there is no go: the Go program is not tested")
    environment.update(CGO_ENABLED="1", CGO_CFLAGS=f"-O2 -I{examples}", CGO_LDFLAGS=f"-L{library}",
                       GOCACHE=os.path.join(work, "go-cache"), GOFLAGS="-mod=mod", GOTOOLCHAIN="local")
    built = os.path.join(work, "walk_samples_go")
    run("go", "build", "-o", built, ".", cwd=os.path.join(examples, "go"), env=environment)
    run(built, *samples, env=environment)
