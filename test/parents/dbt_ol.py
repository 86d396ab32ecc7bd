"""Stands in for dbt-ol: reads the parent as it does, and writes down what it read."""

import json
import os

import attr
from openlineage.common.provider.dbt.utils import get_parent_run_metadata

by_context = get_parent_run_metadata()
del os.environ["OPENLINEAGE_CONTEXT"]
by_ids = get_parent_run_metadata()
with open(os.environ["SEEN"], "a", encoding="utf-8") as seen:
    for way, read in (("dbt by context", by_context), ("dbt by ids", by_ids)):
        fields = {name: value for name, value in attr.asdict(read).items() if value is not None}
        seen.write(json.dumps({"way": way, **fields}) + "\n")
