package rest

import (
	"fmt"
	"strings"
)

// Mode is how long an emit waits. The zero value means that nothing is said: the next in the row decides (the call, the
// emitter, SyncPrimary).
type Mode string

// The modes, named as DataHub names them.
const (
	// SyncWait returns once the primary store and the search index have the aspect.
	SyncWait Mode = "SYNC_WAIT"
	// SyncPrimary returns once the primary store has the aspect. It is the default.
	SyncPrimary Mode = "SYNC_PRIMARY"
	// Async returns once the server has queued the aspect. Most throughput; a failure later is not told.
	Async Mode = "ASYNC"
	// AsyncWait queues as Async does and then asks the server until the aspect is in both stores, or failed.
	AsyncWait Mode = "ASYNC_WAIT"
)

// ModeVariable is the environment variable that DataHub's clients read their default mode from.
const ModeVariable = "DATAHUB_EMIT_MODE"

// ParseMode reads a mode in any letter case. An empty text is the zero Mode.
func ParseMode(text string) (Mode, error) {
	switch m := Mode(strings.ToUpper(strings.TrimSpace(text))); m {
	case "", SyncWait, SyncPrimary, Async, AsyncWait:
		return m, nil
	default:
		return "", fmt.Errorf("%q is no emit mode: use SYNC_WAIT, SYNC_PRIMARY, ASYNC or ASYNC_WAIT", text)
	}
}

// ModeFromEnv returns the mode in DATAHUB_EMIT_MODE, the zero Mode when it is unset. The package itself reads no
// environment: a program hands os.Getenv and puts the result into Config.Mode.
func ModeFromEnv(getenv func(string) string) (Mode, error) {
	m, err := ParseMode(getenv(ModeVariable))
	if err != nil {
		return "", fmt.Errorf("%s: %w", ModeVariable, err)
	}
	return m, nil
}

// async reports whether the server is asked to queue only.
func (m Mode) async() bool { return m == Async || m == AsyncWait }

// API is one of the two ways to GMS.
type API string

// The ways.
const (
	// APIAuto asks the server's version and takes OpenAPI where it is complete.
	APIAuto API = ""
	// APIRestli is /aspects?action=ingestProposal, in every server.
	APIRestli API = "RESTLI"
	// APIOpenAPI is /openapi/v3/entity/{type}.
	APIOpenAPI API = "OPENAPI"
)

// ParseAPI reads the name of a way in any letter case. An empty text is APIAuto.
func ParseAPI(text string) (API, error) {
	switch a := API(strings.ToUpper(strings.TrimSpace(text))); a {
	case APIAuto, APIRestli, APIOpenAPI:
		return a, nil
	default:
		return "", fmt.Errorf("%q is no DataHub endpoint: use RESTLI or OPENAPI", text)
	}
}
