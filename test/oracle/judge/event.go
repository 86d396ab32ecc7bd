package judge

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Job names a job.
type Job struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// Run is a run of a job.
type Run struct {
	ID  string
	Job Job
}

// Dataset names a dataset.
type Dataset struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// Event is an event that has to come.
type Event struct {
	Run          Run
	Type         string // START, RUNNING, COMPLETE, FAIL or ABORT
	Time         time.Time
	Parent, Root *Run // nil: none
	// Inputs and Outputs may stand in any order.
	Inputs, Outputs []Dataset
	// Error is the message of the errorMessage facet. Empty: no such facet.
	Error string
}

// Key is an event's identity.
type Key struct {
	Run, Type, Time string
}

// Key returns the event's identity.
func (e Event) Key() Key { return Key{Run: e.Run.ID, Type: e.Type, Time: stamp(e.Time)} }

func (k Key) String() string { return fmt.Sprintf("%s of run %s at %s", k.Type, k.Run, k.Time) }

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// Arrival is a copy of an event as a consumer got it.
type Arrival struct {
	At   time.Time
	Body []byte
}

// wire is the part of an OpenLineage event that is looked at.
type wire struct {
	Type string    `json:"eventType"`
	Time time.Time `json:"eventTime"`
	Run  struct {
		ID     string `json:"runId"`
		Facets struct {
			Parent *struct {
				wireRun
				Root *wireRun `json:"root"`
			} `json:"parent"`
			Error *struct {
				Message string `json:"message"`
			} `json:"errorMessage"`
		} `json:"facets"`
	} `json:"run"`
	Job     Job       `json:"job"`
	Inputs  []Dataset `json:"inputs"`
	Outputs []Dataset `json:"outputs"`
}

type wireRun struct {
	Run struct {
		ID string `json:"runId"`
	} `json:"run"`
	Job Job `json:"job"`
}

func (r *wireRun) run() *Run {
	if r == nil {
		return nil
	}
	return &Run{ID: r.Run.ID, Job: r.Job}
}

// Decode reads an event off its JSON.
func Decode(body []byte) (Event, error) {
	var w wire
	if err := json.Unmarshal(body, &w); err != nil {
		return Event{}, fmt.Errorf("reading an event: %w", err)
	}
	e := Event{
		Run: Run{ID: w.Run.ID, Job: w.Job}, Type: w.Type, Time: w.Time, Inputs: w.Inputs, Outputs: w.Outputs,
	}
	if parent := w.Run.Facets.Parent; parent != nil {
		e.Parent, e.Root = parent.run(), parent.Root.run()
	}
	if failure := w.Run.Facets.Error; failure != nil {
		e.Error = failure.Message
	}
	return e, nil
}

// differs says in words how an event that came differs from the one that had to; empty: not at all.
func differs(want, got Event) string {
	var parts []string
	compare := func(what string, want, got any) {
		if w, g := fmt.Sprint(want), fmt.Sprint(got); w != g {
			parts = append(parts, fmt.Sprintf("%s is %s, not %s", what, g, w))
		}
	}
	compare("job", want.Run.Job, got.Run.Job)
	compare("parent", show(want.Parent), show(got.Parent))
	compare("root", show(want.Root), show(got.Root))
	compare("error", want.Error, got.Error)
	compare("inputs", sorted(want.Inputs), sorted(got.Inputs))
	compare("outputs", sorted(want.Outputs), sorted(got.Outputs))
	return strings.Join(parts, "; ")
}

func show(r *Run) string {
	if r == nil {
		return "none"
	}
	return fmt.Sprint(*r)
}

func sorted(datasets []Dataset) []Dataset {
	list := slices.Clone(datasets)
	slices.SortFunc(list, func(a, b Dataset) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	return list
}
