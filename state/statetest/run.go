package statetest

import "testing"

// Run holds a store to the whole contract.
func Run(t *testing.T, rig Rig) {
	t.Helper()
	for _, topic := range []struct {
		name  string
		tests map[string]func(t *testing.T, rig Rig)
	}{
		{"ledger", ledgerTests},
		{"last good runs", goodTests},
		{"open runs", openRunTests},
		{"outbox", outboxTests},
		{"portions", portionTests},
		{"order", orderTests},
		{"attempts", attemptTests},
		{"groups", groupTests},
		{"dead letters", deadLetterTests},
		{"destinations", destinationTests},
		{"overview", overviewTests},
		{"purge", purgeTests},
		{"rest", restTests},
	} {
		t.Run(topic.name, func(t *testing.T) {
			t.Parallel()
			for name, test := range topic.tests {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					test(t, rig)
				})
			}
		})
	}
	t.Run("model", func(t *testing.T) {
		t.Parallel()
		testModel(t, rig)
	})
}
