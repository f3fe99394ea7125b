# SPDX-License-Identifier: Apache-2.0
"""Tells what bench_unwind measured of all ways of unwinding, as Markdown tables with the spread of the runs, and draws it.

    BACKSIGHT_STACKS=... BACKSIGHT_RUST_PEERS=$(bench/peers/build.sh) bench_unwind --benchmark_repetitions=3 \\
        --benchmark_enable_random_interleaving=true --benchmark_out=unwind.json
    python3 bench/compare.py unwind.json --svg docs/pictures/unwinders-compared.svg

One bar is the median in nanoseconds a frame, the thin line from the least to the greatest run. The same JSON gives the same picture.
"""
import argparse
import math
import statistics

from runs import read

NAMES = {
    "backsight": "backsight, table",
    "backsight_cached": "backsight, table and cache",
    "backsight_interpreter": "backsight, interpreter",
    "framehop": "framehop, cached",
    "gimli": "gimli, a walk around its rows",
    "libdw": "libdw",
    "libunwind_cached": "libunwind, cached",
    "libunwind_uncached": "libunwind, uncached",
    "libunwind_unw_backtrace": "libunwind, unw_backtrace",
    "libgcc_Unwind_Backtrace": "libgcc, _Unwind_Backtrace",
}
GROUPS = [("samples_cold", "Samples, one after the other"), ("samples_warm", "Samples whose bytes were touched before"),
          ("samples_batch", "Samples, 16 at a time")]
OWN = [("own_process_20", "20"), ("own_process_40", "40"), ("own_process_100", "100"), ("own_process_20_one_aligned", "20, one aligned"),
       ("own_process_40_one_aligned", "40, one aligned"), ("own_process_100_one_aligned", "100, one aligned"),
       ("own_process_20_one_signal", "20, one of a signal"), ("own_process_40_one_signal", "40, one of a signal"),
       ("own_process_100_one_signal", "100, one of a signal")]


def number(value):
    return f"{value:,.1f}" if value < 100 else f"{value:,.0f}"


def tables(found):
    print("| way of unwinding | ns a frame | least to greatest | right |\n| --- | ---: | ---: | ---: |")
    for group, title in GROUPS:
        print(f"| *{title}* | | | |")
        rows = [(way, *found[(g, way)]) for g, way in found if g == group]
        for way, values, right in sorted(rows, key=lambda row: statistics.median(row[1])):
            share = "" if right is None else f"{100 * right:.2f} %"
            print(f"| {NAMES[way]} | {number(statistics.median(values))} | {number(min(values))} to {number(max(values))} | {share} |")
    ways = ["backsight_cached", "libunwind_unw_backtrace", "backsight", "libgcc_Unwind_Backtrace"]
    print("\n| frames | " + " | ".join(NAMES[way] for way in ways) + " |\n| --- |" + " ---: |" * len(ways))
    for group, title in OWN:
        cells = [number(statistics.median(found[(group, way)][0])) if (group, way) in found else "" for way in ways]
        print(f"| {title} | " + " | ".join(cells) + " |")


def draw(found, path):
    rows = []
    for group, title in GROUPS:
        rows.append((title, None))
        some = [(NAMES[way], found[(g, way)][0]) for g, way in found if g == group]
        rows += sorted(some, key=lambda row: statistics.median(row[1]))
    values = [v for _, some in rows if some for v in some]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    left, width, step = 230, 480, 20
    at = lambda value: left + width * (math.log10(value) - low) / (high - low)
    height = 30 + step * len(rows)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 70}" height="{height + 20}" font-family="sans-serif" font-size="12">',
           f'<rect width="100%" height="100%" fill="#ffffff"/>']
    for power in range(low, high + 1):
        x = at(10 ** power)
        out.append(f'<line x1="{x:.1f}" y1="20" x2="{x:.1f}" y2="{height}" stroke="#dddddd"/>')
        out.append(f'<text x="{x:.1f}" y="{height + 14}" text-anchor="middle">{10 ** power:,}</text>')
    for i, (name, some) in enumerate(rows):
        y = 20 + step * i
        if some is None:
            out.append(f'<text x="8" y="{y + 14}" font-weight="bold">{name}</text>')
            continue
        middle = statistics.median(some)
        colour = "#009e73" if name.startswith("backsight") else "#999999"
        out.append(f'<text x="{left - 6}" y="{y + 14}" text-anchor="end">{name}</text>')
        out.append(f'<rect x="{left}" y="{y + 4}" width="{at(middle) - left:.1f}" height="12" fill="{colour}"/>')
        out.append(f'<line x1="{at(min(some)):.1f}" y1="{y + 10}" x2="{at(max(some)):.1f}" y2="{y + 10}" stroke="#000000"/>')
        out.append(f'<text x="{at(max(some)) + 5:.1f}" y="{y + 14}">{number(middle)}</text>')
    out.append(f'<text x="{left}" y="14">ns a frame, logarithmic</text>')
    out.append("</svg>")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(out) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("json", help="what --benchmark_out of bench_unwind wrote")
    parser.add_argument("--svg", help="the picture to write")
    words = parser.parse_args()
    found = read(words.json)
    if not found:
        raise SystemExit(f"{words.json}: no walk in it")
    tables(found)
    if words.svg:
        draw(found, words.svg)


if __name__ == "__main__":
    main()
