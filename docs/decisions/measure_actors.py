"""Time requests to two Dask workers, as calls of an actor or as tasks on a pinned future (note 9).

    python docs/decisions/measure_actors.py

Prints percentiles of the time of a round, for a client that reaches workers directly and for one that goes
through the scheduler: two requests with the factors of a 2,000 x 500 x 500 tensor, and two answers with the
counts of one mode.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from distributed import Client, LocalCluster, wait

ROUNDS = 200
FACTORS = [np.zeros((size, 1), np.uint64) for size in (1_000, 500, 500)]


class Shard:
    """Answer like a shard, without cells."""

    def __init__(self, number: int) -> None:
        self.number = number

    def counts(self, factors: list[np.ndarray]) -> np.ndarray:
        """Return counts of 500 rows and 20 components."""
        return np.zeros((2, 500, 20), np.uint32)


def ask(shard: Shard, factors: list[np.ndarray]) -> np.ndarray:
    return shard.counts(factors)


def measure(question: Callable[[], object]) -> str:
    question()
    taken = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        question()
        taken.append(time.perf_counter() - began)
    return " ".join(f"{1e3 * value:7.1f}" for value in np.percentile(taken, [10, 50, 90]))


def main() -> None:
    print("ms per round: 10th, 50th and 90th percentile")
    for direct in (True, False):
        with (
            LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
            Client(cluster, direct_to_workers=direct) as client,
        ):
            workers = list(client.scheduler_info()["workers"])
            actors = [
                client.submit(Shard, n, actor=True, workers=[w]).result() for n, w in enumerate(workers)
            ]
            futures = [client.submit(Shard, n, workers=[w], pure=False) for n, w in enumerate(workers)]
            wait(futures)

            def by_actors(actors: list = actors) -> list:
                answers = [actor.counts(FACTORS) for actor in actors]
                return [answer.result() for answer in answers]

            def by_futures(futures: list = futures, client: Client = client) -> list:
                return client.gather([client.submit(ask, shard, FACTORS, pure=False) for shard in futures])

            way = "direct" if direct else "through the scheduler"
            for name, question in (("actors", by_actors), ("futures", by_futures)):
                print(f"{name + ', ' + way:32}", measure(question))


if __name__ == "__main__":
    main()
