package openlineage

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// ParseEvent reads a run event that Canonical wrote. Its facets come back raw, so encoding the event again gives the
// same bytes.
func ParseEvent(body []byte) (Event, error) {
	var w wireEvent
	if err := json.Unmarshal(body, &w); err != nil {
		return Event{}, fmt.Errorf("reading event: %w", err)
	}
	e := Event{
		Type:     w.Type,
		Time:     w.Time,
		Producer: w.Producer,
		Run:      Run{ID: w.Run.ID},
		Job:      Job{Namespace: w.Job.Namespace, Name: w.Job.Name},
	}
	var err error
	if e.Run.Facets, err = parseOptional(w.Run.Facets); err != nil {
		return Event{}, fmt.Errorf("reading run facets: %w", err)
	}
	if e.Job.Facets, err = parseOptional(w.Job.Facets); err != nil {
		return Event{}, fmt.Errorf("reading job facets: %w", err)
	}
	if e.Inputs, err = parseDatasets(w.Inputs); err != nil {
		return Event{}, fmt.Errorf("reading inputs: %w", err)
	}
	if e.Outputs, err = parseDatasets(w.Outputs); err != nil {
		return Event{}, fmt.Errorf("reading outputs: %w", err)
	}
	return e, nil
}

type wireEvent struct {
	Type     string    `json:"eventType"`
	Time     time.Time `json:"eventTime"`
	Producer string    `json:"producer"`
	Run      struct {
		ID     uuid.UUID       `json:"runId"`
		Facets json.RawMessage `json:"facets"`
	} `json:"run"`
	Job struct {
		Namespace string          `json:"namespace"`
		Name      string          `json:"name"`
		Facets    json.RawMessage `json:"facets"`
	} `json:"job"`
	Inputs  []wireDataset `json:"inputs"`
	Outputs []wireDataset `json:"outputs"`
}

type wireDataset struct {
	Namespace    string          `json:"namespace"`
	Name         string          `json:"name"`
	Facets       json.RawMessage `json:"facets"`
	InputFacets  json.RawMessage `json:"inputFacets"`
	OutputFacets json.RawMessage `json:"outputFacets"`
}

func parseDatasets(wire []wireDataset) ([]Dataset, error) {
	var sets []Dataset
	for i, w := range wire {
		d := Dataset{Namespace: w.Namespace, Name: w.Name}
		var err error
		if d.Facets, err = parseOptional(w.Facets); err != nil {
			return nil, fmt.Errorf("facets of dataset %d: %w", i, err)
		}
		io := w.InputFacets
		if io == nil {
			io = w.OutputFacets
		}
		if d.IOFacets, err = parseOptional(io); err != nil {
			return nil, fmt.Errorf("input or output facets of dataset %d: %w", i, err)
		}
		sets = append(sets, d)
	}
	return sets, nil
}

func parseOptional(raw json.RawMessage) (Facets, error) {
	if raw == nil {
		return Facets{}, nil
	}
	return ParseFacets(raw)
}
