package ops

import (
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// Build says which program runs.
type Build struct {
	Version  string
	Revision string // of the source, empty when unknown
}

// NewRegistry returns a registry of its own, with the Go runtime's and the process's metrics and
// prefect_openlineage_build_info.
func NewRegistry(build Build) *prometheus.Registry {
	registry := prometheus.NewRegistry()
	info := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Namespace: "prefect_openlineage", Name: "build_info", Help: "1, with the program's version as labels.",
		ConstLabels: prometheus.Labels{
			"version": build.Version, "revision": build.Revision, "goversion": runtime.Version(),
		},
	}, func() float64 { return 1 })
	registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		info,
	)
	return registry
}
