package httptransport

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/prefect-openlineage/listener/transport"
)

var _ transport.Reviewer = (*Transport)(nil)

// manyDatasets is from how many on Marquez takes longer over an event than the default timeout waits.
const manyDatasets = 200

// reviewed is what a review looks at of an event.
type reviewed struct {
	EventType string
	Job       struct{ Namespace, Name string }
	Run       struct {
		Facets struct {
			Parent struct {
				Job struct{ Name string }
			}
		}
	}
	Inputs, Outputs []struct {
		Name   string
		Facets struct {
			Schema struct {
				Fields []struct{ Fields []json.RawMessage }
			}
		}
	}
}

// Review says what Marquez would show otherwise or not at all, where the address is one of Marquez's. Events go as they are.
func (t *Transport) Review(event transport.Event) transport.Review {
	review := transport.Review{Copies: [][]byte{event.Body}}
	var e reviewed
	if !isMarquez(t.config.URL.Path) || json.Unmarshal(event.Body, &e) != nil {
		return review
	}
	note := func(format string, args ...any) {
		review.Remarks = append(review.Remarks, "Marquez "+fmt.Sprintf(format, args...))
	}
	if parent := e.Run.Facets.Parent.Job.Name; parent != "" && !strings.HasPrefix(e.Job.Name, parent+".") {
		note("calls the job %s.%s, after its parent (FLOW_NAME_TYPE=path says so from the start)", parent, e.Job.Name)
	}
	if strings.ContainsFunc(e.Job.Namespace, outsideNamespace) {
		note("writes _ for some characters of the namespace %s", e.Job.Namespace)
	}
	if e.EventType == "RUNNING" {
		note("takes the time of a RUNNING event for the start of the run")
	}
	if n := len(e.Inputs) + len(e.Outputs); n >= manyDatasets && t.config.Timeout <= DefaultTimeout {
		note("takes seconds over %d datasets: set timeout to 60", n)
	}
	for _, d := range append(e.Inputs, e.Outputs...) {
		for _, field := range d.Facets.Schema.Fields {
			if len(field.Fields) > 0 {
				note("does not show the columns inside columns of %s", d.Name)
				break
			}
		}
	}
	return review
}

// isMarquez says whether a path may be Marquez's: the one that it has, and not DataHub's, which ends in the same words.
func isMarquez(path string) bool {
	return strings.HasSuffix(path, "/"+DefaultEndpoint) && !strings.Contains(path, "openlineage")
}

// outsideNamespace says of a character that Marquez does not keep it in a job's namespace.
func outsideNamespace(r rune) bool {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', strings.ContainsRune(":/-_.@+", r):
		return false
	default:
		return true
	}
}
