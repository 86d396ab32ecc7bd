package kafka

import (
	"encoding/json"

	"github.com/prefect-openlineage/listener/transport"
)

// job is a job's or a dataset's identity.
type job struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// keyed is what a key is made of.
type keyed struct {
	Job     *job `json:"job"`
	Dataset *job `json:"dataset"`
	Run     *struct {
		Facets struct {
			Parent *struct {
				Job  job `json:"job"`
				Root *struct {
					Job job `json:"job"`
				} `json:"root"`
			} `json:"parent"`
		} `json:"facets"`
	} `json:"run"`
}

// messageKey is the Python client's: of a run the job at the root of its hierarchy, else its parent's, else its own. It
// is read from the body, which a transformer may have changed.
func messageKey(event transport.Event) string {
	var k keyed
	if json.Unmarshal(event.Body, &k) != nil || (k.Job == nil && k.Dataset == nil) {
		return key("run", job{event.Namespace, event.Name})
	}
	switch {
	case k.Dataset != nil && k.Run == nil:
		return key("dataset", *k.Dataset)
	case k.Job == nil:
		return key("run", job{event.Namespace, event.Name})
	case k.Run == nil:
		return key("job", *k.Job)
	}
	above := job{}
	if parent := k.Run.Facets.Parent; parent != nil {
		above = parent.Job
		if parent.Root != nil {
			above = parent.Root.Job
		}
	}
	if above.Namespace == "" || above.Name == "" {
		above = *k.Job
	}
	return key("run", above)
}

func key(kind string, of job) string { return kind + ":" + of.Namespace + "/" + of.Name }
