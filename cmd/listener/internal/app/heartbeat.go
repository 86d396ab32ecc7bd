package app

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"go.uber.org/zap"

	"github.com/prefect-openlineage/listener/cmd/listener/internal/config"
	"github.com/prefect-openlineage/listener/cmd/listener/internal/deliver"
	"github.com/prefect-openlineage/listener/state"
)

// How the heartbeat is paced. A destination is behind when its oldest event has waited for longer than the alert on
// that allows.
const (
	firstHeartbeat   = 10 * time.Second // after the start
	heartbeatEvery   = time.Minute
	heartbeatTimeout = 10 * time.Second
	behindAfter      = 10 * time.Minute
)

// heartbeat asks for an address as long as all is well, so that somebody outside notices when it is not: also where
// there is nothing left here that could say so.
type heartbeat struct {
	url    config.Credential // the address is as good as a secret: who knows it can keep the alarm from being raised
	client *http.Client
	agent  string
	// trouble says why no heartbeat may be sent; empty: all is well.
	trouble func(context.Context) (string, error)
	metrics *heartbeatMetrics
	log     *zap.Logger

	withheld bool
	failures int // since the last that got through
}

func newHeartbeat(o Options, trouble func(context.Context) (string, error), metrics *heartbeatMetrics) *heartbeat {
	connections := http.DefaultTransport.(*http.Transport).Clone() // with the environment's proxies and a handshake's bounds
	connections.DisableKeepAlives = true                           // one request a minute
	return &heartbeat{
		url: o.Config.Heartbeat, client: &http.Client{Transport: connections, Timeout: heartbeatTimeout},
		agent: userAgent(o.Version), trouble: trouble, metrics: metrics, log: o.Log.Named("heartbeat"),
	}
}

// run sends one a minute until the context ends.
func (h *heartbeat) run(ctx context.Context) {
	for next := firstHeartbeat; wait(ctx, next) == nil; next = heartbeatEvery {
		h.turn(ctx)
	}
}

func (h *heartbeat) turn(ctx context.Context) {
	trouble, err := h.trouble(ctx)
	if err != nil {
		trouble = err.Error()
	}
	if ctx.Err() != nil {
		return
	}
	if trouble != "" {
		h.metrics.withheld.Inc()
		if !h.withheld {
			h.log.Warn("no heartbeat is sent until all is well again", zap.String("reason", trouble))
		}
		h.withheld = true
		return
	}
	if h.withheld {
		h.log.Info("heartbeats are sent again")
	}
	h.withheld = false
	switch err := h.send(ctx); {
	case err == nil:
		h.metrics.sent.Inc()
		if h.failures > 0 {
			h.log.Info("heartbeats get through again", zap.Int("failures", h.failures))
		}
		h.failures = 0
	case ctx.Err() != nil:
	default:
		h.metrics.failed.Inc()
		if h.failures == 0 {
			h.log.Warn("a heartbeat did not get through; trying every minute", zap.String("setting", "LISTENER_HEARTBEAT_URL"), zap.Error(err))
		}
		h.failures++
	}
}

// send asks once. Its error holds nothing of the address but the host.
func (h *heartbeat) send(ctx context.Context) error {
	address, err := h.url.Value()
	if err != nil && address.IsZero() {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address.Reveal(), nil)
	if err != nil {
		return errors.New("the address can't be read: it takes one that begins with http:// or https://")
	}
	request.Header.Set("User-Agent", h.agent)
	answer, err := h.client.Do(request)
	if err != nil {
		return withoutAddress(err)
	}
	defer func() { _ = answer.Body.Close() }()                      // what it says is of no use
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 64<<10)) // likewise
	if answer.StatusCode/100 != 2 {
		return fmt.Errorf("the answer is %s", answer.Status)
	}
	return nil
}

// withoutAddress is the error of a request without what it says of the address, and of those that it was sent on to.
func withoutAddress(err error) error {
	failed, _ := errors.AsType[*url.Error](err)
	if failed != nil && failed.Timeout() {
		return fmt.Errorf("no answer within %s", heartbeatTimeout)
	}
	if cause, ok := errors.AsType[*net.OpError](err); ok {
		return cause
	}
	if cause, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return cause
	}
	return errors.New("the answer could not be read or leads nowhere")
}

// heartbeatMetrics count heartbeats by what came of them.
type heartbeatMetrics struct{ sent, failed, withheld prometheus.Counter }

func newHeartbeatMetrics(registry prometheus.Registerer) *heartbeatMetrics {
	all := promauto.With(registry).NewCounterVec(prometheus.CounterOpts{
		Namespace: namespace, Name: "heartbeats_total",
		Help: "Heartbeats (LISTENER_HEARTBEAT_URL) by what came of them; withheld are those that were due while not all was well.",
	}, []string{"result"})
	return &heartbeatMetrics{sent: all.WithLabelValues("ok"), failed: all.WithLabelValues("error"), withheld: all.WithLabelValues("withheld")}
}

// trouble says what keeps the daemon from being current.
func (d *daemon) trouble(ctx context.Context) (string, error) {
	all, err := d.store.Status(ctx)
	if err != nil {
		return "", err
	}
	return troubleOf(d.ops.health.Report().Reasons(), all, d.deliver.Snapshot(), time.Now()), nil
}

// troubleOf finds the first trouble: the daemon is not ready, a destination takes nothing, or its events wait for too
// long. A destination that an operator has parked is none.
func troubleOf(unready []string, all []state.DestinationStatus, states []deliver.DestinationState, now time.Time) string {
	if len(unready) > 0 {
		return unready[0]
	}
	parked := map[string]bool{}
	for _, s := range all {
		parked[s.Name] = s.Parked
	}
	for _, s := range states {
		if !s.OK() && !parked[s.Name] {
			return s.Name + ": " + s.Words(now)
		}
	}
	for _, s := range all {
		if waited := now.Sub(s.OldestPending); !s.Parked && !s.OldestPending.IsZero() && waited > behindAfter {
			return fmt.Sprintf("%s: its oldest event waits for %s", s.Name, waited.Round(time.Second))
		}
	}
	return ""
}
