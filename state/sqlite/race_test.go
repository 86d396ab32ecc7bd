//go:build race

package sqlite_test

// raceEnabled: the race detector makes SQLite a dozen times slower, so no time is measured under it.
const raceEnabled = true

// scaled is the size of a test: the full one, or under the race detector the small one.
func scaled(_, small int) int { return small }
