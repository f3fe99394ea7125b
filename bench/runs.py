# SPDX-License-Identifier: Apache-2.0
"""What bench_unwind wrote by --benchmark_out."""
import json


def read(path):
    """{(group, way): ([ns a frame of each run], share of samples that are right or None)}"""
    with open(path, encoding="utf-8") as file:
        runs = json.load(file)["benchmarks"]
    found = {}
    for run in runs:
        if run.get("run_type") == "aggregate" or run.get("error_occurred") or "ns/frame" not in run:
            continue
        group, way = run["name"].split("/")[:2]
        found.setdefault((group, way), ([], run.get("right")))[0].append(run["ns/frame"])
    return found
