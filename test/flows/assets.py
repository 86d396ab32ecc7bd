"""Assets, failed runs and datasets of a whole flow, as a project would have them. Prefect 3.4 or later.

    python assets.py            a good day
    BROKEN=yes python assets.py a day on which the warehouse does not answer
"""

import os
import sys

from prefect import flow, task
from prefect.artifacts import create_table_artifact
from prefect.assets import Asset, materialize

RAW = Asset(
    key="s3://lake/raw/orders.parquet",
    properties={
        "name": "Raw orders",
        "description": "Orders as the shop exports them.",
        "owners": ["shop-team"],
        "url": "https://wiki.example/orders",
    },
)
CLEAN = "s3://lake/clean/orders.parquet"
DAILY = "postgres://warehouse.example:5432/shop/sales/daily_orders"
CUSTOMERS = "postgres://warehouse.example:5432/shop/sales/customers"


@materialize(RAW, by="airbyte")
def land_orders():
    """An output with properties, and with what is known of it only now."""
    orders = [{"id": 1, "amount": 12.5}, {"id": 2, "amount": 7.0}]
    RAW.add_metadata({"row_count": len(orders), "schema": {"id": "bigint", "amount": "numeric"}})
    return orders


@materialize(CLEAN)
def clean_orders(orders):
    """Prefect knows by the parameter that this asset is made of the one above."""
    return [order for order in orders if order["amount"] > 0]


@materialize(DAILY, asset_deps=[CUSTOMERS])
def load_daily_orders(orders):
    """An asset from outside of Prefect is an input too. When it fails, the table was read and nothing was written."""
    if os.environ.get("BROKEN"):
        raise RuntimeError("the warehouse does not answer")
    return orders


@task
def report(orders):
    """A dataset by an artifact, in the same flow."""
    create_table_artifact(
        key="report",
        table=[{"database_uri": "file:///reports/daily.csv", "row_count": len(orders)}],
        description="ol-dataset_output",
    )


@flow(name="Lake")
def lake():
    orders = clean_orders(land_orders())
    report(load_daily_orders(orders))


if __name__ == "__main__":
    state = lake(return_state=True)
    sys.exit(0 if state.is_completed() else 3)
