package datadog

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/prefect-openlineage/listener/transport"
)

var _ transport.Reviewer = (*Transport)(nil)

// Review returns the copy, and says which datasets Datadog would not show as they are meant. What it shows is what its
// documentation says (docs.datadoghq.com/data_observability/jobs_monitoring/openlineage, dataset naming conventions).
func (t *Transport) Review(event transport.Event) transport.Review {
	stamped, err := t.stamp.apply(event)
	if err != nil {
		return transport.Review{Remarks: []string{err.Error() + ": it would be a dead letter"}}
	}
	review := transport.Review{Copies: [][]byte{stamped.Body}}
	var body struct {
		EventType       string
		Inputs, Outputs []dataset
		Job             struct {
			Facets struct{ JobType json.RawMessage }
		}
	}
	if json.Unmarshal(event.Body, &body) != nil {
		return review
	}
	if body.Job.Facets.JobType == nil {
		review.Remarks = append(review.Remarks, "Datadog shows no run whose job has no facet jobType")
	}
	if body.EventType == "ABORT" {
		review.Remarks = append(review.Remarks, "Datadog makes no span of a run that was aborted")
	}
	for _, d := range slices.Concat(body.Inputs, body.Outputs) {
		if remark := d.remark(); remark != "" && !slices.Contains(review.Remarks, remark) {
			review.Remarks = append(review.Remarks, remark)
		}
	}
	return review
}

type dataset struct{ Namespace, Name string }

// tables are the systems whose tables Datadog knows by three parts: database, schema and table, or what they call them.
var tables = []string{"bigquery", "databricks", "postgres", "redshift", "snowflake", "trino"}

// others are the further systems that OpenLineage's naming table has, whose names Datadog takes as that table has them.
var others = []string{
	"abfss", "arn", "awsathena", "azurecosmos", "azurekusto", "cassandra", "crate", "db2", "dbfs", "file", "gs", "hdfs", "hive",
	"kafka", "mssql", "mysql", "oceanbase", "oracle", "pubsub", "s3", "spanner", "sqlserver", "teradata", "wasbs",
}

// redshift is the form in which Datadog has Redshift's clusters, which is not OpenLineage's.
var redshift = regexp.MustCompile(`^redshift://[0-9]+:[a-z0-9-]+:[^:/]+$`)

// renames is what can be done about a name.
const renames = " (DATASET_MAP changes names)"

// remark says what Datadog makes of a dataset otherwise than it was meant; "": nothing.
func (d dataset) remark() string {
	system, _, _ := strings.Cut(d.Namespace, ":")
	switch {
	case system == "redshift" && !redshift.MatchString(d.Namespace):
		return "Datadog knows Redshift's tables by the namespace redshift://{account}:{region}:{cluster}, and not by " + d.Namespace + renames
	case strings.HasPrefix(d.Namespace, "arn:aws:glue:") && strings.HasPrefix(d.Name, "table/"):
		return "Datadog knows Glue's tables by the name {db}.{table}, and not by " + d.Name + renames
	case slices.Contains(tables, system):
		if strings.Count(d.Name, ".") < 2 {
			return fmt.Sprintf("Datadog wants three parts in the name of a table: %s of %s is taken for what is above it", d.Name, d.Namespace)
		}
		return ""
	case slices.Contains(others, system):
		return ""
	default:
		return fmt.Sprintf("Datadog does not know the namespace %s, and does not show its datasets", d.Namespace)
	}
}
