// Package compat runs the package openlineage-prefect beside the listener, on the same runs of served deployments, and
// compares what the two tell.
package compat
