"""The demo's flow: two tasks, two tables, one of the tasks flaky.

Nothing here knows of lineage but the two artifacts: a table artifact whose description holds `ol-dataset_input` or
`ol-dataset_output` says what a task read or wrote.

    python update_customers.py           one run, as a plain script
    python update_customers.py --serve   a served deployment; start runs with `prefect deployment run`
"""

import os
import random
import sys

import duckdb
from prefect import flow, task
from prefect.artifacts import create_table_artifact

DATABASE = os.environ.get("DEMO_DATABASE", "company_customers_db")
DATABASE_URI = "duckdb:///company_customers_db"


def say_dataset(table: str, direction: str) -> None:
    create_table_artifact(
        key=table.replace("_", "-"),
        table=[{"database_uri": DATABASE_URI, "table": table}],
        description=f"ol-dataset_{direction}",
    )


@task
def extract_customers() -> int:
    rows = [(1, "Ada", "Analytical Engines"), (2, "Grace", "Compilers & Co"), (3, "Edsger", "Shortest Paths")]
    with duckdb.connect(DATABASE) as db:
        db.execute("create or replace table org_customers (id integer, name varchar, firm varchar)")
        db.executemany("insert into org_customers values (?, ?, ?)", rows)
    say_dataset("org_customers", "output")
    return len(rows)


@task
def load_customers(expected: int) -> None:
    say_dataset("org_customers", "input")
    if random.random() < 0.5:
        raise ConnectionError("the warehouse hung up (this task is flaky on purpose)")
    with duckdb.connect(DATABASE) as db:
        db.execute("create or replace table firm_customers as select firm, count(*) as customers from org_customers group by firm")
        (firms,) = db.execute("select count(*) from firm_customers").fetchone()
    assert firms <= expected
    say_dataset("firm_customers", "output")


@flow(name="Update Customers", description="Counts customers by firm.")
def update_customers() -> None:
    load_customers(extract_customers())


if __name__ == "__main__":
    if "--serve" in sys.argv:
        update_customers.serve(name="update-customers", tags=["team:customers"], description="Counts customers by firm.")
    else:
        update_customers()
