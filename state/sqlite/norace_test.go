//go:build !race

package sqlite_test

import "testing"

const raceEnabled = false

func notUnderRace(testing.TB) {}

// scaled is the size of a test: the full one, or under the race detector the small one.
func scaled(full, _ int) int { return full }
