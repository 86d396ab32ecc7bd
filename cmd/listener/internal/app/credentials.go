package app

import (
	"context"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/prefect-openlineage/listener/cmd/listener/internal/config"
	"github.com/prefect-openlineage/listener/prefect"
	"github.com/prefect-openlineage/listener/transport"
)

// secretsEvery is how often files that hold secrets are looked at.
const secretsEvery = 5 * time.Second

// replaceable is a transport that can be exchanged for one with new credentials while events are under way. The old
// one is closed with the new one, since sends that began before may still be in it.
type replaceable struct {
	current atomic.Pointer[transport.Transport]
	old     []transport.Transport // only the watcher and Close, which comes after it, touch it
}

func newReplaceable(t transport.Transport) *replaceable {
	r := &replaceable{}
	r.current.Store(&t)
	return r
}

// Emit sends through the transport that is current.
func (r *replaceable) Emit(ctx context.Context, event transport.Event) error {
	return (*r.current.Load()).Emit(ctx, event)
}

// Close closes the current transport and those that it replaced.
func (r *replaceable) Close(ctx context.Context) error {
	for _, t := range r.old {
		_ = t.Close(ctx) // nothing is in it any more, and it has been replaced
	}
	return (*r.current.Load()).Close(ctx)
}

func (r *replaceable) replace(t transport.Transport) {
	r.old = append(r.old, *r.current.Swap(&t))
}

// secretsWatcher takes up secrets whose files have changed, without a restart.
type secretsWatcher struct {
	options      Options
	current      config.Config
	known        *config.Known
	client       *prefect.Client
	destinations map[string]*replaceable
	changed      func() // told after transports have new credentials
	shown        *operations
	metrics      *reloadMetrics
}

func (w *secretsWatcher) run(ctx context.Context) {
	if w.options.Reload == nil {
		return
	}
	ticker := time.NewTicker(secretsEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if w.current.SecretsChanged() {
			w.reload()
		}
	}
}

func (w *secretsWatcher) reload() {
	fresh, err := w.options.Reload()
	if err == nil {
		w.known.Add(fresh) // before anything can answer with it
		err = w.take(fresh)
	}
	if err != nil {
		w.options.Log.Warn("a file that holds a secret has changed, and the settings cannot be read with it; the old secret stays", zap.Error(err))
		return
	}
	w.current = fresh
	w.metrics.reloaded()
	w.options.Log.Info("secrets were read again from their files")
}

func (w *secretsWatcher) take(c config.Config) error {
	key, err := c.Prefect.APIKey.Value()
	if err != nil {
		return err
	}
	auth, err := c.Prefect.AuthString.Value()
	if err != nil {
		return err
	}
	destinations, err := newDestinations(w.options, c.OpenLineage)
	if err != nil {
		return err
	}
	headers, err := c.Prefect.Headers.Value()
	if err != nil {
		return err
	}
	if err := w.client.SetCredentials(key.Reveal(), auth.Reveal(), headers); err != nil {
		return err
	}
	if err := w.shown.guard(c.HTTP.Auth); err != nil {
		return err
	}
	for _, d := range destinations {
		if r, ok := w.destinations[d.Name]; ok {
			r.replace(d.Transport)
		}
	}
	w.changed()
	return nil
}

// replaceables wraps the destinations' transports so that they can be exchanged.
func replaceables(destinations []transport.Destination) map[string]*replaceable {
	all := make(map[string]*replaceable, len(destinations))
	for i, d := range destinations {
		r := newReplaceable(d.Transport)
		all[d.Name] = r
		destinations[i].Transport = r
	}
	return all
}
