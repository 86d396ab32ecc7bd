package mapping_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
)

// The releases of DataHub differ in where they look for an event's orchestrator; the oldest answers 500 ("unable to
// determine orchestrator") where it finds none.
func orchestrators(producer string, event olEvent) map[string]string {
	engine := strings.ToLower(event.Run.Facets.Engine.Name)
	return map[string]string{
		"releases of 2025":               first(engine, byProducer(producer)),
		"those that take the last part":  first(engine, producer[strings.LastIndex(producer, "/")+1:]),
		"those that ask the integration": first(strings.ToLower(event.Job.Facets.JobType.Integration), engine),
	}
}

type olEvent struct {
	Producer string
	Run      struct {
		Facets struct {
			Engine struct{ Name string } `json:"processing_engine"`
		}
	}
	Job struct {
		Facets struct{ JobType struct{ Integration string } }
	}
}

var knownProducer = regexp.MustCompile(`https://github.com/OpenLineage/OpenLineage/.*/(.*)$|https://github.com/(?:apache/airflow|trinodb/trino)`)

func byProducer(producer string) string {
	if match := knownProducer.FindStringSubmatch(producer); match != nil {
		return match[1]
	}
	return ""
}

func first(words ...string) string {
	for _, word := range words {
		if word != "" {
			return word
		}
	}
	return ""
}

// DataHub's own OpenLineage endpoint knows the orchestrator of each event that the listener tells, in every release, and
// it is the same one.
func TestTheEndpointKnowsTheOrchestrator(t *testing.T) {
	t.Parallel()
	n := 0
	for _, history := range histories(t) {
		for i, body := range told(t, history) {
			var event olEvent
			if err := json.Unmarshal(body, &event); err != nil {
				t.Fatal(err)
			}
			for release, got := range orchestrators(event.Producer, event) {
				if n++; got != "prefect" {
					t.Errorf("%s, event %d: %s find the orchestrator %q", history, i, release, got)
				}
			}
		}
	}
	if n < 300 {
		t.Errorf("only %d looked at", n)
	}
}
