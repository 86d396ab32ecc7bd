//go:build race

package sqlite_test

import "testing"

// raceEnabled: the race detector makes SQLite a dozen times slower, so no time is measured under it.
const raceEnabled = true

// notUnderRace skips a test that does one thing after the other with a lot of data: the detector has nothing to find.
func notUnderRace(t testing.TB) { t.Skip("nothing runs at once here") }

// scaled is the size of a test: the full one, or under the race detector the small one.
func scaled(_, small int) int { return small }
