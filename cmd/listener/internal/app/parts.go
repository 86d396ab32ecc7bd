package app

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/cmd/listener/internal/config"
	"github.com/prefect-openlineage/listener/openlineage"
	"github.com/prefect-openlineage/listener/prefect"
	"github.com/prefect-openlineage/listener/state"
	"github.com/prefect-openlineage/listener/state/sqlite"
	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/factory"
)

// cleanup is a stack of what has to be undone, each with a name for the error.
type cleanup struct {
	steps []step
}

type step struct {
	name string
	do   func(context.Context) error
}

func (c *cleanup) push(name string, do func(context.Context) error) {
	c.steps = append(c.steps, step{name, do})
}

// run undoes everything in reverse order, within the bound, and joins what went wrong.
func (c *cleanup) run() error {
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	var errs []error
	for len(c.steps) > 0 {
		last := c.steps[len(c.steps)-1]
		c.steps = c.steps[:len(c.steps)-1]
		if err := last.do(ctx); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", last.name, err))
		}
	}
	return errors.Join(errs...)
}

// source is the reading side: a client and what reads through it.
type source struct {
	client *prefect.Client
	reader *prefect.Reader
}

func newSource(o Options, registry prometheus.Registerer, done *cleanup) (source, error) {
	client, err := NewPrefect(o.Config.Prefect, userAgent(o.Version), o.Log, newRequestMetrics(registry))
	if err != nil {
		return source{}, err
	}
	done.push("closing the connections to Prefect", func(context.Context) error {
		client.Close()
		return nil
	})
	return source{
		client: client,
		reader: prefect.NewReader(client, prefect.ReaderConfig{UIURL: o.Config.Prefect.UIURL}),
	}, nil
}

// NewPrefect makes a client of the settings. Its error is a SettingsError.
func NewPrefect(c config.Prefect, agent string, log *zap.Logger, metrics prefect.Observer) (*prefect.Client, error) {
	key, keyErr := c.APIKey.Value()
	auth, authErr := c.AuthString.Value()
	headers, headersErr := c.Headers.Value()
	if err := errors.Join(keyErr, authErr, headersErr); err != nil {
		return nil, &SettingsError{err}
	}
	client, err := prefect.NewClient(prefect.Config{
		URL: c.URL, APIKey: key.Reveal(), AuthString: auth.Reveal(), Headers: headers,
		InsecureSkipVerify: c.InsecureSkipVerify, CAFile: c.CertFile, RequestTimeout: c.RequestTimeout,
		MaxRequestsPerSecond: c.MaxRequestsPerSecond, UserAgent: agent, SocketProxy: socketProxy(c),
	}, log, metrics)
	if err != nil {
		return nil, &SettingsError{err}
	}
	return client, nil
}

func userAgent(version string) string { return prefect.DefaultUserAgent + "/" + version }

// newAdapter makes the adapter of the settings. Its error is a SettingsError.
func newAdapter(o Options) (*adapter.Adapter, error) {
	names := o.Config.Names
	producer := names.Producer
	if producer == "" {
		producer = openlineage.Producer(o.Version)
	}
	a, err := adapter.New(adapter.Settings{
		Producer: producer, Version: o.Version, Namespace: names.Namespace,
		TaskNameType:  adapter.TaskNameType(names.TaskName),
		FlowNameType:  adapter.FlowNameType(names.FlowName),
		RunIDType:     adapter.RunIDType(names.RunID),
		DatasetNaming: adapter.DatasetNaming(names.DatasetNaming), DatasetMap: names.DatasetMap,
		DatasetsOnFailure: adapter.DatasetsOnFailure(names.DatasetsOnFailure),
		FlowDatasets:      adapter.FlowDatasets(names.FlowDatasets),
		Parameters:        names.Parameters, Policy: names.Policy,
		Filters: o.Config.OpenLineage.Filters, Additions: o.Config.OpenLineage.Additions,
		Grace: o.Config.Grace, UIURL: o.Config.Prefect.UIURL,
	})
	if err != nil {
		return nil, &SettingsError{err}
	}
	return a, nil
}

// newDestinations makes the consumers of the settings. Its error is a SettingsError that names the variable or the
// line of openlineage.yml.
func newDestinations(o Options, c config.OpenLineage) ([]transport.Destination, error) {
	stdout := o.Stdout
	if stdout == nil {
		stdout = io.Discard
	}
	options := factory.Options{
		Stdout: stdout, UserAgent: userAgent(o.Version), Getenv: o.Getenv, // warnings were given when the settings were read
		Order: c.KeysInOrder,
	}
	if o.reductions != nil { // a preview sends nothing that could be reduced
		options.Reduced = o.reductions.reduced
	}
	destinations, err := factory.Build(c.Transport, options)
	if err != nil {
		return nil, &SettingsError{err}
	}
	if o.reductions != nil {
		o.reductions.expect(destinations)
	}
	return destinations, nil
}

// openStore opens the store as its daemon. Its error is a StartError, or wraps state.ErrDamaged.
func openStore(ctx context.Context, o Options, done *cleanup) (*sqlite.Store, error) {
	if o.Recover {
		recovered, err := sqlite.Recover(ctx, o.Config.StatePath, sqlite.Options{})
		if err != nil {
			return nil, storeError(o, err)
		}
		if len(recovered.Moved) > 0 {
			o.Log.Warn("the damaged store was moved aside and a new one takes its place; what was delivered since may be delivered again",
				zap.Strings("moved", recovered.Moved), zap.Time("since", recovered.Since))
		}
	}
	store, err := sqlite.Open(ctx, o.Config.StatePath, sqlite.Options{Daemon: true})
	if err != nil {
		return nil, storeError(o, err)
	}
	done.push("closing the store", func(context.Context) error { return store.Close() })
	return store, nil
}

// storeError is the error of a store that cannot be opened. It names the setting that says where the store is.
func storeError(o Options, err error) error {
	return startError(fmt.Errorf("LISTENER_STATE=sqlite://%s: %w", o.Config.StatePath, err))
}

func startError(err error) error {
	if errors.Is(err, state.ErrDamaged) || errors.Is(err, state.ErrFatalIO) {
		return err
	}
	return &StartError{err}
}

func register(ctx context.Context, store *sqlite.Store, destinations []transport.Destination) error {
	rows := make([]state.Destination, len(destinations))
	for i, d := range destinations {
		rows[i] = state.Destination{Name: d.Name, Kind: d.Kind, After: d.After}
	}
	if err := store.Register(ctx, rows); err != nil {
		return startError(fmt.Errorf("registering the destinations: %w", err))
	}
	return nil
}

// closeDestinations releases the transports, once nothing is sent any more.
func closeDestinations(destinations []transport.Destination) func(context.Context) error {
	return func(ctx context.Context) error {
		var errs []error
		for _, d := range destinations {
			if err := d.Transport.Close(ctx); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", d.Name, err))
			}
		}
		return errors.Join(errs...)
	}
}
