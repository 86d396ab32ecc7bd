package datadog_test

import (
	"sync"
	"testing"
	"time"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/datadog"
	"github.com/prefect-openlineage/listener/transport/httptransport"
	"github.com/prefect-openlineage/listener/transport/settings"
	"github.com/prefect-openlineage/listener/transport/transporttest"
)

func rule(integration string, types ...datadog.TypeRule) datadog.Rule {
	return datadog.Rule{Integration: integration, Types: types}
}

func on(jobType string) datadog.TypeRule  { return datadog.TypeRule{Type: jobType, Async: true} }
func off(jobType string) datadog.TypeRule { return datadog.TypeRule{Type: jobType} }

func TestRules(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name                 string
		rules                datadog.Rules
		integration, jobType string
		want                 bool
	}{
		{"the default, dbt", datadog.DefaultRules(), "DBT", "MODEL", true},
		{"the default, Prefect", datadog.DefaultRules(), "PREFECT", "TASK", false},
		{"none", nil, "PREFECT", "TASK", false},
		{"everything", datadog.Rules{rule("*", on("*"))}, "", "", true},
		{"everything goes before all", datadog.Rules{rule("prefect", off("*")), rule("*", on("*"))}, "PREFECT", "FLOW", true},
		{"not everything", datadog.Rules{rule("*", off("*"))}, "PREFECT", "FLOW", false},
		{"no integration", datadog.Rules{rule("*", on("flow"))}, "", "FLOW", false},
		{"any case", datadog.Rules{rule("Prefect", on("Flow"))}, "PREFECT", "FLOW", true},
		{"another type", datadog.Rules{rule("prefect", on("flow"))}, "PREFECT", "TASK", false},
		{"another integration", datadog.Rules{rule("airflow", on("*"))}, "PREFECT", "TASK", false},
		{"any integration", datadog.Rules{rule("*", on("task"))}, "PREFECT", "TASK", true},
		{"the first that fits says no", datadog.Rules{rule("*", off("flow")), rule("prefect", on("*"))}, "PREFECT", "FLOW", false},
		{"and leaves the rest", datadog.Rules{rule("*", off("flow")), rule("prefect", on("*"))}, "PREFECT", "TASK", true},
		{"within one", datadog.Rules{rule("prefect", on("*"), off("flow"))}, "PREFECT", "FLOW", true},
		{"no type", datadog.Rules{rule("prefect", on("*"))}, "PREFECT", "", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := tt.rules.Async(tt.integration, tt.jobType); got != tt.want {
				t.Errorf("async: %v", got)
			}
		})
	}
}

func TestRulesOfAnEvent(t *testing.T) {
	t.Parallel()
	rules := datadog.Rules{rule("prefect", on("task"))}
	for body, want := range map[string]bool{
		`{"job":{"facets":{"jobType":{"integration":"PREFECT","jobType":"TASK"}}}}`: true,
		`{"job":{"facets":{"jobType":{"integration":"PREFECT","jobType":"FLOW"}}}}`: false,
		`{"job":{"facets":{"jobType":{"integration":"PREFECT","jobType":null}}}}`:   false,
		`{"job":{"facets":{}}}`: false, `{"job":null}`: false, `[]`: false, ``: false,
	} {
		if got := rules.AsyncEvent(transport.Event{Body: []byte(body)}); got != want {
			t.Errorf("%s: async is %v", body, got)
		}
	}
}

// The order of the rules is that in which they were written, which a map does not keep.
func TestRulesKeepTheirOrder(t *testing.T) {
	t.Parallel()
	values := m{"apiKey": "k", "async_transport_rules": m{"*": m{"flow": false}, "prefect": m{"*": true}}}
	for _, written := range [][]string{{"*", "prefect"}, {"prefect", "*"}} {
		s := settings.New("transport", values)
		c := datadog.Parse(s, datadog.Options{Getenv: func(string) string { return "" }, Order: func(path string) []string {
			if path == "transport.async_transport_rules" {
				return written
			}
			return nil
		}})
		if got, want := c.Rules.Async("prefect", "flow"), written[0] == "prefect"; got != want {
			t.Errorf("%v: flows are async: %v", written, got)
		}
	}
}

func TestHowManyAtOnce(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		rules m
		most  int
		want  int
	}{
		"none":       {m{}, 20, httptransport.DefaultParallel},
		"dbt":        {m{"dbt": m{"*": true}}, 20, httptransport.DefaultParallel},
		"everything": {m{"*": m{"*": true}}, 20, 20},
		"few":        {m{"*": m{"*": true}}, 2, 2},
		"tasks":      {m{"prefect": m{"task": true}}, 20, 20 + httptransport.DefaultParallel},
		"many":       {m{"*": m{"*": true}}, 1000, httptransport.MaxParallel},
	} {
		c := parse(t, m{"apiKey": "k", "async_transport_rules": tt.rules, "max_concurrent_requests": tt.most}, nil)
		if c.HTTP.Parallel != tt.want {
			t.Errorf("%s: %d at once, want %d", name, c.HTTP.Parallel, tt.want)
		}
	}
}

// Of the events that are not async no more than the usual number are under way, whatever comes beside them.
func TestLanes(t *testing.T) {
	t.Parallel()
	sink := transporttest.NewSink(t)
	sink.Script(transporttest.Always(transporttest.Late(20 * time.Millisecond)))
	c := parse(t, to(sink, m{"async_transport_rules": m{"prefect": m{"task": true}}, "max_concurrent_requests": 2}), nil)
	tr := build(t, c)
	var wg sync.WaitGroup
	for run := range 40 {
		wg.Go(func() {
			event := transporttest.Event(run, 0)
			event.Body = []byte(`{"run":{"runId":"x"},"job":{"facets":{"jobType":{"integration":"PREFECT","jobType":"TASK"}}}}`)
			if err := tr.Emit(t.Context(), event); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	most := 0
	for _, r := range sink.Requests() {
		now := 0
		for _, other := range sink.Requests() {
			if gap := r.At.Sub(other.At); gap >= 0 && gap < 20*time.Millisecond {
				now++
			}
		}
		most = max(most, now)
	}
	if most > 2 {
		t.Errorf("%d were under way at once, want at most 2", most)
	}
	if n := len(sink.Taken()); n != 40 {
		t.Errorf("%d came", n)
	}
}
