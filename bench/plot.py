# SPDX-License-Identifier: Apache-2.0
"""Draws what bench_unwind measured, as an SVG picture, and prints it as a Markdown table. Needs matplotlib.

    BACKSIGHT_STACKS=... build/bench/bench/bench_unwind --benchmark_out=unwind.json
    python3 bench/plot.py unwind.json --frames 5640 --svg docs/pictures/unwinders.svg

One bar a way of unwinding, the median of its repetitions in nanoseconds of CPU time a frame; `cold` where the bytes of the
stacks were not touched before. The ratio is to the fastest compiled unwinder. The same JSON gives the same picture.
"""
import argparse
import statistics

import runs

NAMES = {
    "compiled_table": "compiled, table",
    "compiled_tree": "compiled, tree",
    "compiled_switch": "compiled, switch",
    "backsight": "table at run time",
    "backsight_cached": "table at run time, cache of rules",
    "backsight_interpreter": "interpreter",
    "libunwind_cached": "libunwind, cached",
    "libunwind_uncached": "libunwind, uncached",
    "libdw": "libdw",
}
COLOURS = {"compiled": "#0072b2", "table": "#009e73", "interpreter": "#e69f00"}


def fastest_first(path):
    """Pairs of (way, warm) and ns/frame."""
    found = {}
    for (group, way), (values, _) in runs.read(path).items():
        if group in ("samples_cold", "samples_warm") and way in NAMES:
            found[way, group == "samples_warm"] = statistics.median(values)
    return sorted(found.items(), key=lambda pair: pair[1])


def label(key):
    return NAMES[key[0]] + ("" if key[1] else " (cold)")


def table(rows, frames):
    # The first of the compiled ones is the measure, as in the figures of the work that this remakes.
    unit = next(value for key, value in rows if key[0].startswith("compiled"))
    # A way whose frames differ from the expected ones is not timed by the bench: errors are 0.
    print("| way of unwinding | frames | total time, µs | ns/frame | errors | ratio |\n| --- | --- | --- | --- | --- | --- |")
    for key, value in rows:
        print(f"| {label(key)} | {frames:,} | {value * frames / 1000:,.0f} | {value:.1f} | 0 | {value / unit:.1f} |")


def draw(rows, path):
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plot

    plot.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "backsight", "font.size": 9})
    figure, axes = plot.subplots(figsize=(7, 0.6 + 0.26 * len(rows)))
    names = [label(key) for key, _ in rows]
    values = [value for _, value in rows]
    colours = [next((c for word, c in COLOURS.items() if name.startswith(word)), "#999999") for name in names]
    bars = axes.barh(names, values, color=colours)
    axes.bar_label(bars, [f"{value:,.0f}" for value in values], padding=3)
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlim(min(values) / 2, max(values) * 2.5)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.set_xlabel("ns a frame, logarithmic")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, bbox_inches="tight", metadata={"Date": None})


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("json", help="what --benchmark_out of bench_unwind wrote")
    parser.add_argument("--frames", type=int, required=True, help="frames of the samples, for the total time")
    parser.add_argument("--svg", help="the picture to write")
    words = parser.parse_args()
    rows = fastest_first(words.json)
    if not rows:
        raise SystemExit(f"{words.json}: no walk over samples in it")
    table(rows, words.frames)
    if words.svg:
        draw(rows, words.svg)


if __name__ == "__main__":
    main()
