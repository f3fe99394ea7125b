# SPDX-License-Identifier: Apache-2.0
"""The shared library exports what its header declares, with its version, and nothing else: symbols_test.py LIBRARY HEADER."""
import re
import shutil
import subprocess
import sys

library, header = sys.argv[1:]
if shutil.which("readelf") is None:
    print("there is no readelf: the symbols are not looked at")
    sys.exit(77)
with open(header, encoding="utf-8") as text:
    declared = set(re.findall(r"^BSU_API [^;(]*?(bsu_\w+)\(", text.read(), re.MULTILINE))
out = subprocess.run(["readelf", "--dyn-syms", "-W", library], capture_output=True, text=True, check=True).stdout
exported = {line.split()[7] for line in out.splitlines() if re.match(r"\s*\d+:", line) and len(line.split()) >= 8
            and line.split()[6] not in ("UND", "ABS")}
wanted = {name + "@@BACKSIGHT_UNWIND_1" for name in declared}
print(f"{len(declared)} declared, {len(exported)} exported")
for name in sorted(exported ^ wanted):
    print("only", "exported" if name in exported else "declared", name)
sys.exit(0 if exported == wanted and len(declared) > 20 else 1)
