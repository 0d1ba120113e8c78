"""The lines that a bench prints. Units are the same on both sides, and more is better."""

import statistics
import sys


def line(name, ours, peer, limit=None, of=""):
    """`ours` and `peer`: what each run gave. The median counts; the spread goes to the standard error. `limit`: what nobody
    can pass, and `of` what it is."""
    middle, other = statistics.median(ours), statistics.median(peer)
    bound = f" limit={limit:.0f} reached={middle / limit:.2f} ({of})" if limit else ""
    print(f"bench {name} ours={middle:.0f} peer={other:.0f} ratio={middle / other:.2f}{bound}", flush=True)
    note(f"  {name}: ours {spread(ours)}; peer {spread(peer)}")


def less(name, ours, peer):
    """Of what less is better, bytes or microseconds: the ratio is the peer's by ours."""
    print(f"bench {name} ours={ours} peer={peer} ratio={peer / ours:.2f}", flush=True)


def memory(name, peak_kib, bound_mib):
    print(f"memory {name} peak_mib={peak_kib / 1024:.0f} bound_mib={bound_mib}", flush=True)


def spread(values):
    return " ".join(f"{value:.0f}" for value in values)


def note(text):
    print(text, file=sys.stderr, flush=True)
