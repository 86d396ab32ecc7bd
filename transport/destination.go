package transport

// Destination is a transport as delivery sees it: something with a position, a backoff and errors of its own.
type Destination struct {
	// Name is the identity over restarts: the configured name, else type and target without secrets.
	Name string
	// Kind is the transport's type, such as http.
	Kind      string
	Transport Transport
	// After names the destination that must have an event before this one gets it; its dead letter skips the event
	// here. Empty: none.
	After string
	// Parallel is how many events (of different runs) may be under way at once, at least 1.
	Parallel int

	// MaxBytes is the size of the largest event that the consumer takes, in bytes. 0: nobody knows; the consumer says so
	// by its refusal of one that is larger.
	MaxBytes int

	// Target is where the events go, for people: an address or a path, without secrets.
	Target string
	// Settings are the effective settings, defaults included, for people: secrets are replaced by Masked.
	Settings map[string]any
	// Places say where the settings stand in the configuration, by the part of Settings that they are: "" is all of it,
	// transform and transports[0] are what stands below these keys. transport.transports[1] is such a place.
	Places map[string]string
}

// Masked stands for a secret wherever settings, texts or answers are shown.
const Masked = "***"
