# SPDX-License-Identifier: Apache-2.0
"""The C interface on AArch64: built by a cross compiler, run by qemu-user.

    aarch64_test.py EXAMPLES INCLUDE BOOST WORK

Runs c_api_test without other processes (qemu-user has no ptrace), the soak for two seconds, and the capture of the registers that callees
preserve. Without aarch64-linux-gnu-g++ or qemu-aarch64 it says so and ends with 77, which ctest takes for "skipped". Debian's
packages g++-aarch64-linux-gnu and g++-multilib, which others of the tests use, exclude each other."""
import os
import shutil
import sys

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "..", "support"))
from corpus_samples import run, skip

examples, include, boost, work = sys.argv[1:]
cross = "aarch64-linux-gnu-"
emulator = shutil.which("qemu-aarch64") or shutil.which("qemu-aarch64-static")
if not shutil.which(cross + "g++") or not shutil.which(cross + "gcc"):
    skip("there is no aarch64-linux-gnu-g++: the C interface is not tested on AArch64")
if not emulator:
    skip("there is no qemu-aarch64: the C interface is not tested on AArch64")
os.makedirs(work, exist_ok=True)
# Boost's headers alone: what lies beside them is of this machine.
beside = os.path.join(work, "include")
os.makedirs(beside, exist_ok=True)
if not os.path.lexists(os.path.join(beside, "boost")):
    os.symlink(os.path.join(boost, "boost"), os.path.join(beside, "boost"))


def made(name):
    return os.path.join(work, name)


warnings = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
cxx = [cross + "g++", "-std=c++20", "-O1", "-g", "-fPIC", "-fvisibility=hidden", *warnings, "-Wconversion", "-Wsign-conversion", "-Wshadow",
       "-I", include, "-isystem", beside, "-I", examples]
cc = [cross + "gcc", "-std=gnu11", "-g", "-rdynamic", "-funwind-tables", *warnings, "-I", examples]
objects = []
for name in ("jit", "modules", "remote", "walk"):
    objects.append(made(name + ".o"))
    run(*cxx, "-c", os.path.join(examples, name + ".cpp"), "-o", objects[-1])
library = made("libbacksight_unwind.so.1")
run(*cxx, "-shared", "-Wl,-soname,libbacksight_unwind.so.1",
    "-Wl,--version-script=" + os.path.join(examples, "backsight_unwind.map"), *objects, "-o", library, "-lpthread", "-ldl")
run(*cc, os.path.join(here, "c_api_test.c"), "-o", made("c_api_test"), library, "-lpthread", "-ldl")
run(*cc, "-O1", os.path.join(here, "soak.c"), "-o", made("soak"), library, "-lpthread", "-ldl")
run(*cxx, "-fvisibility=default", "-shared", os.path.join(here, "../cfi/calls_back.cpp"), "-o", made("libcalls_back.so"))
run(*cxx, os.path.join(here, "capture_aarch64.cpp"), "-o", made("capture"), "-ldl")

system = "/usr/aarch64-linux-gnu"
emulated = [emulator, "-L", system, "-E", f"LD_LIBRARY_PATH={work}:{system}/lib"]
run(*emulated, made("capture"))
run(*emulated, made("c_api_test"), work, made("libcalls_back.so"), "emulated")
run(*emulated, made("soak"), made("libcalls_back.so"), "2")
