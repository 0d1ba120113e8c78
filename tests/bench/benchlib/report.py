"""The lines that a bench prints. Units are the same on both sides, and more is better."""

import statistics
import sys


def line(name, ours, peer):
    """`ours` and `peer`: what each run gave. The median counts; the spread goes to the standard error."""
    middle, other = statistics.median(ours), statistics.median(peer)
    print(f"bench {name} ours={middle:.0f} peer={other:.0f} ratio={middle / other:.2f}", flush=True)
    note(f"  {name}: ours {spread(ours)}; peer {spread(peer)}")


def memory(name, peak_kib, bound_mib):
    print(f"memory {name} peak_mib={peak_kib / 1024:.0f} bound_mib={bound_mib}", flush=True)


def spread(values):
    return " ".join(f"{value:.0f}" for value in values)


def note(text):
    print(text, file=sys.stderr, flush=True)
