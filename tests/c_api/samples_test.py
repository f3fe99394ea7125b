# SPDX-License-Identifier: Apache-2.0
"""All stack samples of the corpus through the C interface, from C++, Rust and Go.

    samples_test.py SAMPLES LIBRARY-FOLDER EXAMPLES WORK [rust|go]

Without BACKSIGHT_CORPUS, or zstd, or the language's compiler it says so and ends with 77, which ctest takes for "skipped". Rust and Go
walk their own stacks without the corpus too."""
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import corpus_samples
from corpus_samples import run, skip

program, library, examples, work, *language = sys.argv[1:]
plain = os.path.join(work, "samples.plain")
os.makedirs(work, exist_ok=True)


def make_plain():
    stk, elves = corpus_samples.unpack(work)
    run(program, stk, elves, plain + ".new")
    os.replace(plain + ".new", plain)


if not language:
    if not corpus_samples.THERE:
        skip(corpus_samples.NOT_THERE)
    make_plain()
    sys.exit(0)

if corpus_samples.THERE and not os.path.exists(plain):
    make_plain()
samples = [plain] if corpus_samples.THERE else []
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
