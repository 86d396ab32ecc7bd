// Package parents runs the examples of docs/parents.md on a real Prefect: parents that come from outside, and parents
// that flows hand to dbt and Spark.
package parents
