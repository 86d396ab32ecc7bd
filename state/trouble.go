package state

import "time"

// Trouble is how delivery to a destination fails, as the daemon last said of it. The store keeps it only for commands
// that look at it from beside the daemon; a daemon that starts knows of none.
type Trouble struct {
	Destination string
	// State is the trouble in a word: down or held. Empty: none.
	State string
	// Reason is why, in a word such as auth or timeout. It holds no secrets.
	Reason string
	Since  time.Time
}
