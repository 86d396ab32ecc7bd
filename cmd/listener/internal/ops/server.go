package ops

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"
)

// stopTimeout is how long requests in hand may take at the end.
const stopTimeout = 5 * time.Second

// Options are what a Server is made from.
type Options struct {
	// Addr is where to listen, such as :9090 or 127.0.0.1:0; port 0 takes a free one.
	Addr string
	// Auth is user:password for /metrics and the page; empty: everybody may see them.
	Auth string
	// PprofAddr is a loopback address for profiles, on a listener of its own; empty: none.
	PprofAddr string

	Health   *Health
	Registry *prometheus.Registry
	Build    Build
	Log      *zap.Logger // default: none
}

// Server answers probes, Prometheus and people.
type Server struct {
	options Options
	began   time.Time
	parts   []part
	auth    atomic.Pointer[credentials] // nil: everybody may see everything
}

// part is one listener and what serves it.
type part struct {
	listener net.Listener
	server   *http.Server
}

// New makes a server and listens, so that Addr is known; Run answers. A server that is not run must be closed.
func New(ctx context.Context, options Options) (*Server, error) {
	if options.Log == nil {
		options.Log = zap.NewNop()
	}
	s := &Server{options: options, began: time.Now()}
	if err := s.SetAuth(options.Auth); err != nil {
		return nil, err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", options.Addr)
	if err != nil {
		return nil, fmt.Errorf("listening for metrics and probes: %w", err)
	}
	s.serve(listener, s.routes(), 30*time.Second)
	if options.PprofAddr == "" {
		return s, nil
	}
	listener, err = listenLoopback(ctx, options.PprofAddr)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("listening for profiles: %w", err), s.Close())
	}
	s.serve(listener, profiles(), 5*time.Minute)
	return s, nil
}

func (s *Server) serve(listener net.Listener, handler http.Handler, writeTimeout time.Duration) {
	// What clients do wrong is logged by net/http line by line: at debug level, lest a port scan fills the log.
	log, err := zap.NewStdLogAt(s.options.Log, zap.DebugLevel)
	if err != nil {
		log = zap.NewStdLog(s.options.Log)
	}
	s.parts = append(s.parts, part{listener, &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          log,
	}})
}

// SetAuth changes the user:password that /metrics and the page ask for, for a secret that is kept in a file. Empty:
// everybody may see them. After an error the old ones stand.
func (s *Server) SetAuth(auth string) error {
	parsed, err := parseAuth(auth)
	if err != nil {
		return err
	}
	s.auth.Store(parsed)
	return nil
}

// Addr returns the address that the server listens on, as host:port.
func (s *Server) Addr() string { return s.parts[0].listener.Addr().String() }

// PprofAddr returns the address for profiles; empty: none.
func (s *Server) PprofAddr() string {
	if len(s.parts) < 2 {
		return ""
	}
	return s.parts[1].listener.Addr().String()
}

// Run answers until the context ends, and returns when the requests in hand are answered, or after five seconds. It
// works once.
func (s *Server) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, p := range s.parts {
		group.Go(func() error {
			if err := p.server.Serve(p.listener); !errors.Is(err, http.ErrServerClosed) {
				return fmt.Errorf("serving on %s: %w", p.listener.Addr(), err)
			}
			return nil
		})
		group.Go(func() error {
			<-ctx.Done()
			// The context has ended, and requests in hand are to get their answers nevertheless.
			limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
			defer cancel()
			if err := p.server.Shutdown(limited); err != nil {
				return p.server.Close()
			}
			return nil
		})
	}
	return group.Wait()
}

// Close stops listening at once.
func (s *Server) Close() error {
	var errs []error
	for _, p := range s.parts {
		if err := p.server.Close(); err != nil {
			errs = append(errs, err)
		}
		if err := p.listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
