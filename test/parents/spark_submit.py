"""Stands in for spark-submit: writes down the settings that it was given."""

import json
import os
import sys

settings = dict(word.split("=", 1) for word in sys.argv[1:] if word.startswith("spark.openlineage."))
with open(os.environ["SEEN"], "a", encoding="utf-8") as seen:
    seen.write(json.dumps({
        "way": "spark",
        "run_id": settings["spark.openlineage.parentRunId"],
        "job_name": settings["spark.openlineage.parentJobName"],
        "job_namespace": settings["spark.openlineage.parentJobNamespace"],
        "root_parent_run_id": settings["spark.openlineage.rootParentRunId"],
        "root_parent_job_name": settings["spark.openlineage.rootParentJobName"],
        "root_parent_job_namespace": settings["spark.openlineage.rootParentJobNamespace"],
    }) + "\n")
