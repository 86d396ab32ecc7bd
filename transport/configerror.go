package transport

// ConfigError is a setting that cannot be used.
type ConfigError struct {
	// Path is where the setting stands, such as transport.transports.marquez.url; callers translate it to the name of a
	// variable where it came from one.
	Path string
	// Problem says what is wrong and Hint what to do, both without secrets.
	Problem string
	Hint    string // may be empty
}

func (e *ConfigError) Error() string {
	text := e.Path + ": " + e.Problem
	if e.Hint != "" {
		text += "; " + e.Hint
	}
	return text
}
