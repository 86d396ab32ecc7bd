// Package versions runs one suite of flows on real Prefect servers, from an early 3.4 to the newest, and holds what is
// told of them against what each server shows. What differs between them is in docs/versions.md.
package versions
