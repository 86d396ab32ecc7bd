package openlineage

import (
	"bytes"
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
	b := make([]byte, 0, usualEvent)
	b = appendString(append(b, `{"eventTime":`...), at)
	b = appendString(append(b, `,"eventType":`...), e.Type)
	if b, err = appendDatasets(append(b, `,"inputs":`...), e.Inputs, true, e.Producer); err != nil {
		return nil, fmt.Errorf("encoding inputs: %w", err)
	}
	if b, err = e.Job.Facets.append(append(b, `,"job":{"facets":`...), e.Producer); err != nil {
		return nil, fmt.Errorf("encoding job facets: %w", err)
	}
	b = appendString(append(b, `,"name":`...), e.Job.Name)
	b = appendString(append(b, `,"namespace":`...), e.Job.Namespace)
	if b, err = appendDatasets(append(b, `},"outputs":`...), e.Outputs, false, e.Producer); err != nil {
		return nil, fmt.Errorf("encoding outputs: %w", err)
	}
	b = appendString(append(b, `,"producer":`...), e.Producer)
	if b, err = e.Run.Facets.append(append(b, `,"run":{"facets":`...), e.Producer); err != nil {
		return nil, fmt.Errorf("encoding run facets: %w", err)
	}
	b = appendUUID(append(b, `,"runId":`...), e.Run.ID)
	b = appendString(append(b, `},"schemaURL":`...), SchemaURL)
	return bytes.Clone(append(b, '}')), nil // events are kept for a while, the room that they did not need is not
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

// appendDatasets writes a run's inputs or outputs.
func appendDatasets(b []byte, sets []Dataset, inputs bool, producer string) ([]byte, error) {
	b = append(b, '[')
	for i, d := range sets {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = d.Facets.append(append(b, `{"facets":`...), producer); err != nil {
			return nil, fmt.Errorf("facets of dataset %d: %w", i, err)
		}
		if inputs {
			if b, err = d.IOFacets.append(append(b, `,"inputFacets":`...), producer); err != nil {
				return nil, fmt.Errorf("inputFacets of dataset %d: %w", i, err)
			}
		}
		b = appendString(append(b, `,"name":`...), d.Name)
		b = appendString(append(b, `,"namespace":`...), d.Namespace)
		if !inputs {
			if b, err = d.IOFacets.append(append(b, `,"outputFacets":`...), producer); err != nil {
				return nil, fmt.Errorf("outputFacets of dataset %d: %w", i, err)
			}
		}
		b = append(b, '}')
	}
	return append(b, ']'), nil
}

// formatTime writes a time in the one form, and refuses years that RFC 3339 can't write.
func formatTime(t time.Time) (string, error) {
	t = t.UTC()
	if y := t.Year(); y < 0 || y > 9999 {
		return "", fmt.Errorf("year %d is outside 0 to 9999", y)
	}
	return t.Format(TimeLayout), nil
}
