// Package hints holds the tests of Prefect's events as hints, on a real server.
package hints
