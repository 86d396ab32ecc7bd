package mapping

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/prefect-openlineage/listener/openlineage"
)

// event is what of an event is mapped.
type event struct {
	Type string    `json:"eventType"`
	Time time.Time `json:"eventTime"`
	Run  struct {
		ID     string `json:"runId"`
		Facets facets `json:"facets"`
	} `json:"run"`
	Job struct {
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
		Facets    facets `json:"facets"`
	} `json:"job"`
	Inputs  []rawDataset `json:"inputs"`
	Outputs []rawDataset `json:"outputs"`
}

type rawDataset struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Facets    facets `json:"facets"`
}

// facets are raw by key, so that one with another shape than expected costs itself alone.
type facets map[string]json.RawMessage

// read returns a facet, and the zero value for one that is missing or has another shape.
func read[T any](f facets, key string) T {
	var facet, none T
	raw, ok := f[key]
	if !ok || json.Unmarshal(raw, &facet) != nil {
		return none
	}
	return facet
}

func parse(body []byte) (event, error) {
	var e event
	if err := json.Unmarshal(body, &e); err != nil {
		return event{}, fmt.Errorf("reading the event: %w", err)
	}
	switch {
	case e.Run.ID == "":
		return event{}, fmt.Errorf("reading the event: it names no run")
	case e.Job.Namespace == "" || e.Job.Name == "":
		return event{}, fmt.Errorf("reading the event of run %s: it names no job", e.Run.ID)
	case e.Time.IsZero():
		return event{}, fmt.Errorf("reading the event of run %s: it has no time", e.Run.ID)
	}
	return e, nil
}

// deployment is the facet prefect_deployment, nominal the facet nominalTime.
type (
	deployment struct {
		ID      string `json:"id"`
		Name    string `json:"name"`
		Version string `json:"version"`
		Created string `json:"created"`
	}
	nominal struct {
		Start time.Time `json:"nominalStartTime"`
		End   time.Time `json:"nominalEndTime"`
	}
)

func (e event) prefect() openlineage.PrefectRunFacet {
	return read[openlineage.PrefectRunFacet](e.Run.Facets, "prefect_run")
}

func (e event) jobType() openlineage.JobTypeJobFacet {
	return read[openlineage.JobTypeJobFacet](e.Job.Facets, "jobType")
}

// parent returns the run above; nil: there is none.
func (e event) parent() *openlineage.ParentRunFacet {
	return read[*openlineage.ParentRunFacet](e.Run.Facets, "parent")
}

// isFlow reports whether the event is about a flow, not a task.
func (e event) isFlow() bool {
	if kind := e.jobType().JobType; kind != "" {
		return kind == "FLOW"
	}
	if kind := e.prefect().Kind; kind != "" {
		return kind == "flow-run"
	}
	return e.parent() == nil
}

// isEnd reports whether the run has ended.
func (e event) isEnd() bool {
	return e.Type == "COMPLETE" || e.Type == "FAIL" || e.Type == "ABORT"
}
