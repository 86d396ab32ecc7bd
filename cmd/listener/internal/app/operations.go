package app

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/prefect-openlineage/listener/cmd/listener/internal/config"
	"github.com/prefect-openlineage/listener/cmd/listener/internal/deliver"
	"github.com/prefect-openlineage/listener/cmd/listener/internal/ops"
)

// patientPolls is for how many intervals Prefect may not have been read before the daemon counts as not ready, and
// leastPatience the least time for it: one slow answer is no outage.
const (
	patientPolls  = 3
	leastPatience = 30 * time.Second
)

// operations is what the daemon shows of itself: health, metrics and the page. Its server may be off.
type operations struct {
	health *ops.Health
	polled *ops.Beat
	// Polls are usual apart, or more. Patience is how long none may have gone well when they are usual apart.
	usual, patience time.Duration
	room            *ops.Condition
	server          *ops.Server // nil: off
	ended           chan error
	cancel          context.CancelFunc
}

// newOperations makes the health that the parts report to. Nothing listens yet.
func newOperations(o Options) *operations {
	health := ops.NewHealth()
	patience := max(patientPolls*o.Config.PollInterval, leastPatience)
	p := &operations{
		health: health, ended: make(chan error, 1),
		usual: o.Config.PollInterval, patience: patience,
		polled: health.NeedBeat("Prefect was last read", patience),
		room:   health.Need("reading"),
	}
	if o.Config.OpenLineage.Disabled {
		p.polled.Miss("OPENLINEAGE_DISABLED is true")
	}
	p.room.OK()
	return p
}

// serve listens on the address of the settings and answers from now on, before the rest has started, so that probes see
// the start too. Its error is a StartError.
func (p *operations) serve(ctx context.Context, o Options, registry *prometheus.Registry) error {
	if o.Config.HTTP.Addr == config.OffAddr {
		return nil
	}
	auth, err := o.Config.HTTP.Auth.Value()
	if err != nil {
		return &SettingsError{err}
	}
	server, err := ops.New(ctx, ops.Options{
		Addr: o.Config.HTTP.Addr, Auth: auth.Reveal(), Health: p.health, Registry: registry,
		Build: ops.Build{Version: o.Version, Revision: o.Commit}, Log: o.Log.Named("http"),
	})
	if err != nil {
		return &StartError{fmt.Errorf("LISTENER_HTTP_ADDR=%s: %w", o.Config.HTTP.Addr, err)}
	}
	p.server = server
	serving, cancel := context.WithCancel(context.WithoutCancel(ctx)) // it outlives the run: the stop is to be seen as well
	p.cancel = cancel
	go func() { p.ended <- server.Run(serving) }()
	return nil
}

// stop ends the server and waits for it.
func (p *operations) stop(context.Context) error {
	if p.server == nil {
		return nil
	}
	p.cancel()
	return <-p.ended
}

// guard changes what the server asks for.
func (p *operations) guard(auth config.Credential) error {
	if p.server == nil {
		return nil
	}
	secret, err := auth.Value()
	if err != nil {
		return err
	}
	return p.server.SetAuth(secret.Reveal())
}

func (p *operations) started() { p.health.Started() }

func (p *operations) stopping() { p.health.Stopping() }

// addr is where the server listens; off when it does not.
func (p *operations) addr() string {
	if p.server == nil {
		return config.OffAddr
	}
	return p.server.Addr()
}

// watch shows how the destinations stand. None of them makes the daemon unready: it keeps their events.
func (p *operations) watch(look func() []deliver.DestinationState) {
	p.health.Show("destinations", func() (bool, string) {
		ok, now := true, time.Now()
		var words []string
		for _, s := range look() {
			ok = ok && s.OK()
			words = append(words, s.Name+": "+s.Words(now))
		}
		return ok, strings.Join(words, "; ")
	})
}

// PollSucceeded, PollsEvery, PollFailed and Paused are how the reading side reports.
func (p *operations) PollSucceeded(time.Time) { p.polled.Beat() }

// PollsEvery tells how far apart polls are from now on.
func (p *operations) PollsEvery(interval time.Duration) {
	p.polled.Within(p.patience + interval - p.usual)
}

// PollFailed alone does not make the daemon unready, only a row of failures for too long does.
func (p *operations) PollFailed(err error) { p.polled.Miss(err.Error()) }

// Paused makes the daemon unready until it is told that the reason is gone.
func (p *operations) Paused(reason string) {
	if reason == "" {
		p.room.OK()
		return
	}
	p.room.Fail("paused: " + reason)
}
