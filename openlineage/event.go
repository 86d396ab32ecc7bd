package openlineage

import (
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// SchemaURL names the definition that every run event follows.
const SchemaURL = specURL + "#/$defs/RunEvent"

// specURL is the core schema of the spec's version that this package writes.
const specURL = "https://openlineage.io/spec/2-0-2/OpenLineage.json"

// TimeLayout is the one form of every time in an event. The time must be in UTC.
const TimeLayout = "2006-01-02T15:04:05.000000Z"

// Producer returns the URI that names this program in its given version: the producer of its events and facets, and
// the place where the schemas of its own facets stand.
func Producer(version string) string {
	return "https://github.com/prefect-openlineage/listener/tree/v" + version
}

// Event is an OpenLineage run event: one transition in the life of one run.
type Event struct {
	Type     string    // START, RUNNING, COMPLETE, FAIL, ABORT or OTHER
	Time     time.Time // eventTime; any zone, written in UTC to the microsecond
	Producer string    // also the _producer of each facet that names none itself
	Run      Run
	Job      Job
	Inputs   []Dataset
	Outputs  []Dataset
}

// Run is one execution of a job.
type Run struct {
	ID     uuid.UUID
	Facets Facets
}

// Job is what runs, the same in each of its runs.
type Job struct {
	Namespace string
	Name      string
	Facets    Facets
}

// Dataset is something that a run read or wrote.
type Dataset struct {
	Namespace string
	Name      string
	Facets    Facets
	// IOFacets are the inputFacets of an input and the outputFacets of an output: what is true of this run's use of
	// the dataset alone.
	IOFacets Facets
}

// Canonical returns the event as canonical JSON. It refuses an event that lacks what the spec requires, since such an
// event poisons some consumers for everyone.
func (e Event) Canonical() ([]byte, error) {
	if err := e.check(); err != nil {
		return nil, fmt.Errorf("encoding event: %w", err)
	}
	at, err := formatTime(e.Time)
	if err != nil {
		return nil, fmt.Errorf("encoding event time: %w", err)
	}
	runFacets, err := e.Run.Facets.Canonical(e.Producer)
	if err != nil {
		return nil, fmt.Errorf("encoding run facets: %w", err)
	}
	jobFacets, err := e.Job.Facets.Canonical(e.Producer)
	if err != nil {
		return nil, fmt.Errorf("encoding job facets: %w", err)
	}
	inputs, err := datasets(e.Inputs, "inputFacets", e.Producer)
	if err != nil {
		return nil, fmt.Errorf("encoding inputs: %w", err)
	}
	outputs, err := datasets(e.Outputs, "outputFacets", e.Producer)
	if err != nil {
		return nil, fmt.Errorf("encoding outputs: %w", err)
	}
	return appendCanonical(make([]byte, 0, len(runFacets)+len(jobFacets)+usualRest), map[string]any{
		"eventType": e.Type,
		"eventTime": at,
		"producer":  e.Producer,
		"schemaURL": SchemaURL,
		"run":       map[string]any{"runId": e.Run.ID.String(), "facets": canonical(runFacets)},
		"job":       map[string]any{"namespace": e.Job.Namespace, "name": e.Job.Name, "facets": canonical(jobFacets)},
		"inputs":    inputs,
		"outputs":   outputs,
	}), nil
}

func (e Event) check() error {
	switch {
	case e.Type == "":
		return errors.New("no event type")
	case e.Time.IsZero():
		return errors.New("no event time")
	case e.Producer == "":
		return errors.New("no producer")
	case e.Run.ID == uuid.Nil:
		return errors.New("no run id")
	case e.Job.Namespace == "":
		return errors.New("no job namespace")
	case e.Job.Name == "":
		return errors.New("no job name")
	}
	for _, side := range [][]Dataset{e.Inputs, e.Outputs} {
		for i, d := range side {
			if d.Namespace == "" || d.Name == "" {
				return fmt.Errorf("dataset %d has no namespace or no name", i)
			}
		}
	}
	return nil
}

func datasets(sets []Dataset, ioKey, producer string) ([]any, error) {
	list := make([]any, len(sets))
	for i, d := range sets {
		facets, err := d.Facets.Canonical(producer)
		if err != nil {
			return nil, fmt.Errorf("facets of dataset %d: %w", i, err)
		}
		ioFacets, err := d.IOFacets.Canonical(producer)
		if err != nil {
			return nil, fmt.Errorf("%s of dataset %d: %w", ioKey, i, err)
		}
		list[i] = map[string]any{
			"namespace": d.Namespace,
			"name":      d.Name,
			"facets":    canonical(facets),
			ioKey:       canonical(ioFacets),
		}
	}
	return list, nil
}

// formatTime writes a time in the one form, and refuses years that RFC 3339 can't write.
func formatTime(t time.Time) (string, error) {
	t = t.UTC()
	if y := t.Year(); y < 0 || y > 9999 {
		return "", fmt.Errorf("year %d is outside 0 to 9999", y)
	}
	return t.Format(TimeLayout), nil
}
