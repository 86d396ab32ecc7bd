// Package e2e tests the listener as a binary against real servers: Prefect, and Marquez where MARQUEZ_URL names one.
//
// The flows are those of test/flows. Their events are held to golden files, to the spec, and to what OpenLineage's own
// check of producers wants. That check is run by hand, since it is a program of its own; docs/decisions.md says what it
// found.
package e2e
