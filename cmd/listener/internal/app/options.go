package app

import (
	"errors"
	"io"
	"time"

	"go.uber.org/zap"

	"github.com/prefect-openlineage/listener/cmd/listener/internal/config"
)

// Options are what the process gives the parts.
type Options struct {
	Config config.Config
	// Reload reads the settings anew, for secrets whose files have changed. Nil: they are never read again.
	Reload func() (config.Config, error)
	// Version, Commit and Date name the build.
	Version, Commit, Date string
	Log                   *zap.Logger
	// Known are the credentials to mask in whatever is stored. Nil: those of Config.
	Known *config.Known
	// Stdout takes the events of the console transport and of a preview.
	Stdout io.Writer
	// Progress takes a line that is written over and over during long work. Nil: nobody looks.
	Progress io.Writer
	// Getenv reads variables that transports honour besides their settings.
	Getenv func(string) string
	// Supervisor hears how the daemon is. Nil: nobody does.
	Supervisor Supervisor
	// Recover starts over beside a damaged store, which is moved aside.
	Recover bool

	reductions *reductions // what is told of events that were too large
}

// known returns the credentials to mask.
func (o Options) known() *config.Known {
	if o.Known != nil {
		return o.Known
	}
	return config.NewKnown(o.Config)
}

// StartError says that the listener could not start, though its settings are right: the store or the address is not to
// be had.
type StartError struct{ Err error }

func (e *StartError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *StartError) Unwrap() error { return e.Err }

// SettingsError says that a setting is wrong. Its text names it.
type SettingsError struct{ Err error }

func (e *SettingsError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *SettingsError) Unwrap() error { return e.Err }

// Limits of the process's own.
const (
	// diskReserve is the room on the disk below which reading pauses: deliveries must go on being settled, and a
	// settlement needs room too.
	diskReserve = 64 << 20
	// stopTimeout bounds closing what has to be closed.
	stopTimeout = 5 * time.Second
)

var errNoLogger = errors.New("app: no logger")
