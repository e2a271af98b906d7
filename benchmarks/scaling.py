#!/usr/bin/env python3
"""Simulates data-parallel training steps on 1 to 1,024 machines, and prints the speedups.

    python3 benchmarks/scaling.py [--step FILE] [--nodes 2,4,...] [--gbit 1,10,25,100] [--zero 0,1,2,3] [--grow batch|nodes]

FILE is the output of `tapeformer bench train-step --json` on one machine, with its time and its parameters; the default is a
model of 60 million parameters and a step of 1 s. By default every machine keeps that batch, so that the global batch grows with
the number of machines (weak scaling); with `--grow nodes` the global batch is fixed and divided among them (strong scaling).

The model. A step is a forward (a third of the time) and a backward (two thirds), which produces the gradients bucket by bucket
at a constant rate. A machine's link sends W bytes of messages per second (`--payload` of its bits, since frames have headers),
and receives as many at the same time. A message takes `latency` to arrive, and costs its sender `overhead`. A bucket of S bytes
on n machines takes

    all-to-all of its shares    latency + (n - 1) overhead + S (n - 1) / n / W
    all-gather of the sums      the same

Transfers start as soon as they can, one at a time: they wait while the link is busy. A machine's own work per exchanged byte
(packing, summing, copies by the operating system) runs at `--copy` bytes per second and adds to the computation. With ZeRO 1 and
2 gradients need only the all-to-all, and after the update the parameters need the all-gather, which overlaps with nothing. With
ZeRO 3 the parameters of each of `--layers` layers are gathered while the previous layer is computed, forward and backward.

The network has no loss and no other traffic, and its switch carries all links at full rate.
"""

import argparse
import heapq
import json
import sys
from dataclasses import dataclass


@dataclass
class Job:
    seconds: float  # per step on one machine, with its whole batch
    parameters: int
    bucket: float = 25 * 2**20  # bytes
    wire: float = 4  # bytes per gradient
    zero: int = 0
    layers: int = 12


@dataclass
class Network:
    nodes: int
    rate: float  # bytes per second in each direction
    latency: float = 20e-6
    overhead: float = 2e-6
    copy: float = 4e9


class Link:
    """The sending side of a machine's link: one transfer at a time."""

    def __init__(self, network):
        self.network = network
        self.free = 0.0

    def send(self, ready, size):
        """Completion time of a transfer that all machines start at `ready` and whose result has `size` bytes."""
        n = self.network.nodes
        begin = max(ready, self.free)
        self.free = begin + (n - 1) * self.network.overhead + size * (n - 1) / n / self.network.rate
        return self.free + self.network.latency


def buckets_of(job, width):
    """Sizes of the buckets in bytes, with `width` bytes per transferred value."""
    values, full = job.parameters, int(job.bucket // 4)
    sizes = []
    while values > 0:
        sizes.append(min(full, values) * width)
        values -= full
    return sizes


def step_seconds(job, network, part=1.0):
    """Seconds per update, where each machine computes `part` of the batch that takes job.seconds."""
    compute = job.seconds * part
    if network.nodes == 1:
        return compute
    link, sizes = Link(network), buckets_of(job, job.wire)
    total = sum(sizes)
    forward, backward = compute / 3, 2 / 3 * compute + 2 * total / network.copy  # includes the work for exchanged bytes
    if job.zero == 3:
        return gathered_step(link, job, forward, backward)
    clock, sent, turns = forward, 0.0, []
    for size in sizes:
        sent += size
        clock = forward + backward * sent / total
        heapq.heappush(turns, (clock, False, size))
    done = clock
    while turns:  # first come, first served
        ready, is_sum, size = heapq.heappop(turns)
        done = max(done, end := link.send(ready, size))
        if job.zero == 0 and not is_sum:
            heapq.heappush(turns, (end, True, size))
    if job.zero in (1, 2):
        for size in buckets_of(job, 4):
            done = link.send(done, size)
    return done


def gathered_step(link, job, forward, backward):
    """With ZeRO 3: the parameters of a layer arrive while the previous layer is computed, and again in the backward, except for
    the last layer's, which are still in memory."""
    values = job.parameters / job.layers
    clock, arrived = 0.0, link.send(0.0, 4 * values)
    for layer in range(job.layers):
        clock = max(clock, arrived)
        if layer + 1 < job.layers:
            arrived = link.send(clock, 4 * values)
        clock += forward / job.layers
    for layer in range(job.layers):
        clock = max(clock, arrived)
        if layer + 1 < job.layers:
            arrived = link.send(clock, 4 * values)
        clock += backward / job.layers
        link.send(clock, job.wire * values)
    return max(clock, link.free + link.network.latency)


def table(job, networks, zeros, strong):
    """Lines of Markdown: one row per rate and ZeRO level, one column per number of machines; `networks` is rate -> networks."""
    nodes = [network.nodes for network in next(iter(networks.values()))]
    yield f"{job.parameters / 1e6:.1f} million parameters, {job.seconds:.3f} s per step on one machine, " + (
        "its batch divided among all" if strong else "its batch on each")
    yield ""
    yield "| Gbit/s | ZeRO | " + " | ".join(f"{n}" for n in nodes) + " |"
    yield "| ---: | ---: |" + " ---: |" * len(nodes)
    for rate, row in networks.items():
        for zero in zeros:
            job.zero = zero
            cells = []
            for network in row:
                n = network.nodes
                seconds = step_seconds(job, network, 1 / n if strong else 1)
                speedup = job.seconds / seconds * (1 if strong else n)
                cells.append(f"{speedup:.3g} ({100 * speedup / n:.0f}%)")
            yield f"| {rate:g} | {zero} | " + " | ".join(cells) + " |"


def main():
    def numbers(text):
        return [float(word) for word in text.split(",")]

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--step", help="JSON line of `tapeformer bench train-step`")
    parser.add_argument("--nodes", type=numbers, default=[2**i for i in range(1, 11)])
    parser.add_argument("--gbit", type=numbers, default=[1, 10, 25, 100])
    parser.add_argument("--zero", type=numbers, default=[0, 1, 2, 3])
    parser.add_argument("--layers", type=int, default=12, help="number of layers, the units gathered with ZeRO 3")
    parser.add_argument("--grow", choices=["batch", "nodes"], default="batch")
    parser.add_argument("--bf16-gradients", action="store_true")
    parser.add_argument("--latency", type=float, default=20e-6, help="seconds until a message arrives")
    parser.add_argument("--payload", type=float, default=0.95,
                        help="share of a link's bits available to messages, default for TCP over Ethernet")  # fmt: skip
    parser.add_argument("--copy", type=float, default=4e9, help="exchanged bytes that a machine processes per second")
    arguments = parser.parse_args()
    job = Job(seconds=1.0, parameters=60_000_000, wire=2 if arguments.bf16_gradients else 4, layers=arguments.layers)
    if arguments.step:
        with open(arguments.step, encoding="utf-8") as file:
            measured = json.loads(file.read().splitlines()[-1])
        job.seconds, job.parameters = measured["min_ms"] / 1e3, measured["params"]
    bytes_a_gbit = arguments.payload * 1e9 / 8
    networks = {
        rate: [Network(int(n), rate * bytes_a_gbit, arguments.latency, copy=arguments.copy) for n in arguments.nodes]
        for rate in arguments.gbit
    }
    for line in table(job, networks, [int(z) for z in arguments.zero], arguments.grow == "nodes"):
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
