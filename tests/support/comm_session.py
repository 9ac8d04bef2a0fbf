# SPDX-License-Identifier: Apache-2.0
"""
Run a Dask cluster of two worker processes over TCP, to exercise its messages and their compression.

This program prints a line of JSON with the modules that each process imports as msgpack and zstandard.
"""

from __future__ import annotations

import datetime
import json
from typing import Any

import dask
from dask.distributed import Client, LocalCluster


def modules() -> list[str]:
    """Return which modules this process imports as msgpack and zstandard."""
    import msgpack
    import zstandard

    return [msgpack.packb.__module__, zstandard.ZstdCompressor.__module__]


def echo(value: Any) -> Any:
    return value


def main() -> None:
    """Start a cluster, and send values of every kind back and forth."""
    text = "compressible text, " * 100_000
    values: list[Any] = [
        None,
        {"nested": [1, 2.5, (3, "x")], "bytes": b"\x00" * 100_000},
        text,
        text.encode(),
        datetime.datetime(2024, 2, 29, 12, tzinfo=datetime.timezone.utc),
        {1: "int", (1, 2): "tuple", None: 0},
        list(range(50_000)),
        {"key" * 10 + str(number): number for number in range(5_000)},
    ]
    settings = {
        "distributed.comm.compression": "zstd",
        "distributed.nanny.pre-spawn-environ": {},
        "distributed.scheduler.worker-ttl": None,
    }
    with (
        dask.config.set(settings),
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        for value in values:
            assert client.submit(echo, value, pure=False).result() == value
        scattered = client.scatter(values, broadcast=True)
        assert client.gather(client.map(echo, scattered, pure=False)) == values
        print(json.dumps({"here": modules(), "workers": list(client.run(modules).values())}))


if __name__ == "__main__":
    main()
