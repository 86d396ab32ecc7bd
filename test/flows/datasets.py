"""How a run names datasets, as docs/datasets.md explains it: what a row can say, the forms of a table, every system.

    python datasets.py

Runs on every Prefect from 2.20 on.
"""

import json

from prefect import flow, get_client, task
from prefect.artifacts import create_table_artifact
from prefect.context import TaskRunContext


def reads(*rows):
    create_table_artifact(key="reads", table=list(rows), description="What it reads: ol-dataset_input")


def writes(*rows):
    create_table_artifact(key="writes", table=list(rows), description="OL-Dataset_Output, in any case")


# --- what a row can say ----------------------------------------------------------------------------------------------

ORDERS = {"database_uri": "postgresql://etl:hunter2@db.example/shop", "table": "orders"}


@task
def summarize():
    """Every key that a row can have."""
    reads({
        **ORDERS,
        "schema": {"id": "bigint", "amount": "numeric(10,2)"},
        "description": "Orders of the web shop.",
        "owners": ["team:orders", {"name": "ada", "type": "STEWARD"}],
        "row_count": 1200,
        "size": 48000,
        "file_count": 1,
        "assertions": [
            {"assertion": "not_null", "column": "id", "success": True},
            {"assertion": "row_count", "success": False, "severity": "warn", "expected": 1000, "actual": 998},
        ],
        "facets": {"dataQualityMetrics": {"rowCount": 1200, "columnMetrics": {"amount": {"nullCount": 0, "min": 0.5}}}},
    })
    writes(
        {
            "database_uri": "snowflake://org-acct/shop/sales",
            "table": "daily",
            "columns": ["day", "total"],
            "version": "2026-11-30",
            "lifecycle": "overwrite",
            "row_count": 30,
            "symlinks": [{"database_uri": "hive://metastore.example/shop", "table": "daily"}],
            "column_lineage": {"total": [{
                **ORDERS, "field": "amount",
                "transformations": [{"type": "DIRECT", "subtype": "AGGREGATION", "description": "sum"}],
            }]},
        },
        {
            "database_uri": "s3a://lake/daily",
            "table": "2026-11-30.parquet",
            "schema": json.dumps([{"name": "day", "type": "date", "description": "in UTC"}, {"name": "total"}]),
            "lifecycle": {"change": "rename", "previous": {"database_uri": "s3://lake", "table": "daily/today.parquet"}},
            "facets": {
                "storage": {"storageLayer": "s3", "fileFormat": "parquet"},
                "tags": {"tags": [{"key": "pii", "value": "false", "source": "USER"}]},
                "acme_retention": {"days": 90},
            },
            "a column of your own": "is not looked at",
        },
    )


@task
def with_faults():
    """What can't be used is left out alone, and said in the listener's log."""
    reads(
        {**ORDERS, "row_count": "many", "lifecycle": "melted", "version": 2},
        {"table": "nowhere"},
        {"database_uri": "duckdb:///warehouse", "table": "kept"},
    )


@flow(name="Rows", flow_run_name="rows of a day")
def rows():
    summarize()
    with_faults()


# --- the forms of a table --------------------------------------------------------------------------------------------

URI = "duckdb:///warehouse"
FORMS = {
    "rows": [{"database_uri": URI, "table": "rows"}],
    "columns": {"database_uri": [URI, URI], "table": ["column_1", "column_2"]},
    "one-value-for-all": {"database_uri": URI, "table": ["all_1", "all_2"]},
    "names-first": [["table", "database_uri"], ["names_first", URI]],
    "text": json.dumps([{"database_uri": URI, "table": "text"}]),
    "columns-in-text": json.dumps({"database_uri": [URI], "table": ["columns_in_text"]}),
    "no-table": 42,
    "no-json": "| database_uri | table |",
    "nothing": None,
}


@task
def post_forms():
    """What other programs may post over the REST API. The last three hold no table.

    Prefect 2 itself spoils rows of exactly two values, "rows" and "names-first" here; as a text they stay what they are.
    """
    with TaskClient() as post:
        for key, data in FORMS.items():
            post({"key": key, "type": "table", "description": "ol-dataset_output", "data": data})
        post({"type": "table", "description": "ol-dataset_output: it needs no key", "data": FORMS["rows"]})
        post({"key": "prose", "type": "markdown", "description": "ol-dataset_output", "data": "# not a table"})


class TaskClient:
    """Posts artifacts of the task run that is running."""

    def __enter__(self):
        run = TaskRunContext.get().task_run
        ids = {"task_run_id": str(run.id), "flow_run_id": str(run.flow_run_id)}
        self.client = get_client(sync_client=True)
        self.client.__enter__()
        return lambda artifact: self.client._client.post("/artifacts/", json={**artifact, **ids}).raise_for_status()

    def __exit__(self, *error):
        self.client.__exit__(*error)


@flow(name="Forms")
def forms():
    post_forms()
    for part in range(3):  # a key may be used again
        create_table_artifact(key="parts", table=[{"database_uri": f"file:///data/{part}.csv"}], description="ol-dataset_input")


# --- several hundred -------------------------------------------------------------------------------------------------


@task
def write_parts(count):
    with TaskClient() as post:
        for n in range(count):
            row = {"database_uri": f"s3://lake/parts/{n:03}.parquet", "row_count": n}
            post({"key": f"part-{n}", "type": "table", "description": "ol-dataset_output", "data": json.dumps([row])})


@flow(name="Many Artifacts")
def many():
    write_parts(400)


# --- every system ----------------------------------------------------------------------------------------------------

SYSTEMS = [
    ("awsathena+rest://athena.eu-west-1.amazonaws.com/logs", "clicks"),
    ("arn:aws:glue:us-east-1:123456789012", "shop.orders"),
    ("azurecosmos://acct.documents.azure.com/dbs/shop", "orders"),
    ("https://c.westeurope.kusto.windows.net/shop", "orders"),
    ("mssql+pyodbc://ws.sql.azuresynapse.net/pool", "orders"),
    ("bigquery://project/shop", "orders"),
    ("cassandra://h/shop", "orders"),
    ("crate://h", "orders"),
    ("db2+ibm_db://h/SHOP", "SALES.ORDERS"),
    ("hive://h", "orders"),
    ("mssql://abc.datawarehouse.fabric.microsoft.com/wh", "orders"),
    ("milvus://h", "orders"),
    ("mysql+pymysql://h/shop", "orders"),
    ("oceanbase+pymysql://h/shop", "orders"),
    ("oracle+oracledb://h/?service_name=SHOP", "SALES.ORDERS"),
    ("postgresql+psycopg2://h/shop", '"public"."orders"'),
    ("redshift://c.abc.us-west-2.redshift.amazonaws.com/shop", "orders"),
    ("snowflake://org-acct/shop/sales", "orders"),
    ("spanner:///projects/p/instances/i/databases/shop", "sales.orders"),
    ("mssql+pyodbc://h/shop", "[orders]"),
    ("teradatasql://h/?database=shop", "orders"),
    ("trino://h/hive/sales", "orders"),
    ("databricks://w.cloud.databricks.com?catalog=main", "sales.orders"),
    ("s3a://lake/raw", "orders.parquet"),
    ("gs://lake/raw/orders.parquet", None),
    ("abfss://raw@acct.dfs.core.windows.net/orders", None),
    ("wasbs://raw@acct.blob.core.windows.net/orders", None),
    ("hdfs://nn:8020/raw/orders", None),
    ("dbfs://workspace/mnt/orders", None),
    ("file:///data/orders.csv", None),
    ("file://nas/data/orders.csv", None),
    ("kafka://b1:9092,b2:9092", "orders"),
    ("pubsub://projects/p/topics/orders", None),
    ("box://api.box.com/E1/shop/orders.csv", None),
    ("filenet://h:9443/repo", "orders"),
    ("mssharepoint://corp.sharepoint.com/site", "orders.xlsx"),
    ("inmemory://", "orders"),
    ("duckdb:///warehouse", "main.orders"),
]


@flow(name="Systems")
def systems():
    reads(*({"database_uri": uri, "table": table} for uri, table in SYSTEMS))


if __name__ == "__main__":
    rows()
    forms()
    many()
    systems()
