#!/usr/bin/env python3
"""Simulates data-parallel training steps on 1 to 1,024 machines, and prints how fast they would be.

    python3 benchmarks/scaling.py [--step FILE] [--nodes 2,4,...] [--gbit 1,10,25,100] [--zero 0,1,2,3] [--grow batch|nodes]

FILE is what `tapeformer bench train-step --json` printed on one machine: its time and its parameters; without it, a model of
60 million parameters and a step of 1 s. By default every machine keeps that batch, so that the batch of all grows with the
machines (weak scaling); with `--grow nodes` the batch of all stays, and each machine has a part of it (strong scaling).

The model. A step is a forward (a third of the time) and a backward (two thirds), which gives the gradients bucket by bucket, as
many bytes a second from its beginning to its end. A machine's link sends W bytes of messages a second (`--payload` of its bits,
for frames have headers), and receives as many besides. A message costs `latency` on its way, and `overhead` to whom sends
it. A bucket of S bytes on n machines takes

    all-to-all of its shares    latency + (n - 1) overhead + S (n - 1) / n / W
    all-gather of the sums      the same

Transfers go off as they become possible, one after the other: a link that is busy makes them wait. A machine's own work for
a byte that is exchanged (packing, summing, the system's copies) is paid at `--copy` bytes a second beside the computation. With
ZeRO 1 and 2 gradients take the first way alone, and after the update the parameters take the second, with nothing to hide
behind. With ZeRO 3 the parameters of each of `--layers` layers are gathered while the layer before is worked on, forward and
backward.

The figures are those of a network without loss or other traffic, whose switch carries all links at once.
"""

import argparse
import heapq
import json
import sys
from dataclasses import dataclass


@dataclass
class Job:
    seconds: float  # of a step of one machine, all of its batch
    parameters: int
    bucket: float = 25 * 2**20  # bytes
    wire: float = 4  # bytes a gradient
    zero: int = 0
    layers: int = 12


@dataclass
class Network:
    nodes: int
    rate: float  # bytes a second, each way
    latency: float = 20e-6
    overhead: float = 2e-6
    copy: float = 4e9


class Link:
    """What a machine sends, one transfer after the other."""

    def __init__(self, network):
        self.network = network
        self.free = 0.0

    def send(self, ready, size):
        """When a transfer is done that all machines start at `ready` and whose result has `size` bytes."""
        n = self.network.nodes
        begin = max(ready, self.free)
        self.free = begin + (n - 1) * self.network.overhead + size * (n - 1) / n / self.network.rate
        return self.free + self.network.latency


def buckets_of(job, width):
    """Sizes of the buckets, of values of so many bytes on their way."""
    values, full = job.parameters, int(job.bucket // 4)
    sizes = []
    while values > 0:
        sizes.append(min(full, values) * width)
        values -= full
    return sizes


def step_seconds(job, network, part=1.0):
    """Of one update, of which each machine computes `part` of the batch that job.seconds stands for."""
    compute = job.seconds * part
    if network.nodes == 1:
        return compute
    link, sizes = Link(network), buckets_of(job, job.wire)
    total = sum(sizes)
    forward, backward = compute / 3, 2 / 3 * compute + 2 * total / network.copy  # with the work for what is exchanged
    if job.zero == 3:
        return gathered_step(link, job, forward, backward)
    clock, sent, turns = forward, 0.0, []
    for size in sizes:
        sent += size
        clock = forward + backward * sent / total
        heapq.heappush(turns, (clock, False, size))
    done = clock
    while turns:  # whichever is there first goes first
        ready, is_sum, size = heapq.heappop(turns)
        done = max(done, end := link.send(ready, size))
        if job.zero == 0 and not is_sum:
            heapq.heappush(turns, (end, True, size))
    if job.zero in (1, 2):
        for size in buckets_of(job, 4):
            done = link.send(done, size)
    return done


def gathered_step(link, job, forward, backward):
    """With ZeRO 3: the parameters of a layer arrive while the layer before is worked on, in the backward once more but for
    the last layer's, which are still there."""
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
    """Lines of Markdown: a row a rate and ZeRO level, a column a number of machines; `networks` is rate -> its networks."""
    nodes = [network.nodes for network in next(iter(networks.values()))]
    yield f"{job.parameters / 1e6:.1f} million parameters, {job.seconds:.3f} s a step on one machine, " + (
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
    parser.add_argument("--layers", type=int, default=12, help="that a model with ZeRO 3 is gathered by")
    parser.add_argument("--grow", choices=["batch", "nodes"], default="batch")
    parser.add_argument("--bf16-gradients", action="store_true")
    parser.add_argument("--latency", type=float, default=20e-6, help="seconds a message is on its way")
    parser.add_argument("--payload", type=float, default=0.95,
                        help="share of a link's bits that messages have, with TCP over Ethernet")  # fmt: skip
    parser.add_argument("--copy", type=float, default=4e9, help="exchanged bytes a machine works off a second")
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
