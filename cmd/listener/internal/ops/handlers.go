package ops

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.uber.org/zap"
)

// routes returns everything that the server answers.
func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", livez)
	mux.HandleFunc("GET /readyz", s.readyz)
	mux.HandleFunc("GET /startupz", s.startupz)
	metrics := promhttp.InstrumentMetricHandler(s.options.Registry, promhttp.HandlerFor(s.options.Registry,
		promhttp.HandlerOpts{
			Registry: s.options.Registry, MaxRequestsInFlight: 4, Timeout: 10 * time.Second,
			// One collector's trouble must not hide what all others say.
			ErrorHandling: promhttp.ContinueOnError, ErrorLog: zap.NewStdLog(s.options.Log.Named("metrics")),
		}))
	mux.Handle("GET /metrics", s.guard(metrics))
	mux.Handle("GET /{$}", s.guard(http.HandlerFunc(s.page)))
	return plain(mux)
}

// plain keeps answers from being stored or taken for something else.
func plain(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		next.ServeHTTP(w, r)
	})
}

func livez(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, "alive") }

func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	report := s.options.Health.Report()
	status := http.StatusOK
	if !report.Ready {
		status = http.StatusServiceUnavailable
	}
	if r.URL.Query().Has("verbose") {
		answerJSON(w, status, report)
		return
	}
	if report.Ready {
		answer(w, status, "ready")
		return
	}
	answer(w, status, append([]string{"not ready"}, report.Reasons()...)...)
}

func (s *Server) startupz(w http.ResponseWriter, _ *http.Request) {
	if s.options.Health.Report().Started {
		answer(w, http.StatusOK, "started")
		return
	}
	answer(w, http.StatusServiceUnavailable, "starting")
}

func answer(w http.ResponseWriter, status int, lines ...string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = fmt.Fprintln(w, strings.Join(lines, "\n")) // a client that is gone is no trouble of ours
}

func answerJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	_ = encoder.Encode(body) // likewise
}
