//go:build race

package sqlite_test

// raceEnabled: the race detector makes everything several times slower, so no time is measured under it.
const raceEnabled = true
