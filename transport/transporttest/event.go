package transporttest

import (
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/transport"
)

// firstStart is when the first run of Event begins.
func firstStart() time.Time { return time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC) }

// Event returns the n-th event of a run: 0 is its START, 1 its COMPLETE, and more are RUNNING between them in time. The
// same numbers give the same event.
func Event(run, n int) transport.Event {
	id := uuid.NewSHA1(uuid.NameSpaceURL, fmt.Appendf(nil, "run %d", run)).String()
	eventType := "RUNNING"
	switch n {
	case 0:
		eventType = "START"
	case 1:
		eventType = "COMPLETE"
	}
	at := firstStart().Add(time.Duration(run)*time.Minute + time.Duration(n)*time.Second)
	name := fmt.Sprintf("flow-%d.load <é> & 数据", run%7)
	body := fmt.Sprintf(`{"eventTime":%q,"eventType":%q,"inputs":[],"job":{"facets":{},"name":%q,"namespace":"prefect"},`+
		`"outputs":[],"producer":"https://example.com/producer","run":{"facets":{},"runId":%q},`+
		`"schemaURL":"https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"}`,
		at.Format(time.RFC3339Nano), eventType, name, id)
	return transport.Event{
		Key:   id + "." + eventType + "." + at.Format("20060102T150405Z"),
		RunID: id, Type: eventType, Namespace: "prefect", Name: name, Time: at, Body: []byte(body),
	}
}

// Events returns START and COMPLETE of a number of runs.
func Events(runs int) []transport.Event {
	events := make([]transport.Event, 0, 2*runs)
	for run := range runs {
		events = append(events, Event(run, 0), Event(run, 1))
	}
	return events
}
