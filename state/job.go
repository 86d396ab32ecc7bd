package state

import (
	"time"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/adapter"
)

// Job is a job that something was said of, for pages that show jobs and their datasets.
type Job struct {
	Namespace, Name string
	Kind            adapter.Kind
	LastRun         uuid.UUID // Prefect's id of its latest run
	LastType        adapter.EventType
	LastTime        time.Time // of that event
	// Datasets are those that its latest run with datasets named, and older ones that no newer run replaced.
	Datasets []adapter.Edge
}
