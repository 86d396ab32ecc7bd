"""What the benchmarks run.

    python flows.py serve            serves a flow of mapped tasks as the deployment Mapped/bench, until it is ended
    python flows.py load RUNS TASKS  runs that flow with so many tasks, so many times one after the other
"""

import sys

from prefect import flow, task
from prefect.futures import wait


@task
def one(i):
    return i


@flow(name="Mapped")
def mapped(n: int = 300):
    wait(one.map(range(n)))


if __name__ == "__main__":
    if sys.argv[1:] == ["serve"]:
        mapped.serve(name="bench", print_starting_message=False)
    elif sys.argv[1:2] == ["load"]:
        for _ in range(int(sys.argv[2])):
            mapped(int(sys.argv[3]))
    else:
        sys.exit(__doc__)
