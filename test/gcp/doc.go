// Package gcp holds the tests that compare what the listener sends to Google with what OpenLineage's Python client sends
// by Google's own library, over gRPC and over REST, and those that let a Google on this machine misbehave.
package gcp
