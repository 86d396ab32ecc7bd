package app

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/prefect-openlineage/listener/cmd/listener/internal/deliver"
)

type operations struct{}

func newOperations(Options, *prometheus.Registry) (*operations, error) { return &operations{}, nil }
func (*operations) stop(context.Context) error                        { return nil }
func (*operations) start()                                            {}
func (*operations) stopping()                                         {}
func (*operations) addr() string                                      { return "" }
func (*operations) watch(func() []deliver.DestinationState)           {}
func (*operations) PollSucceeded(time.Time)                           {}
func (*operations) PollFailed(error)                                  {}
func (*operations) Paused(string)                                     {}
