package adapter_test

import (
	"testing"

	"github.com/prefect-openlineage/listener/adapter"
)

// BenchmarkTell makes the two events of a task run with one dataset.
func BenchmarkTell(b *testing.B) {
	a := newAdapter(b)
	flow := flowTold(b, a)
	s := taskSnapshot(taskRow(), table(1, "ol-dataset_output", `"[{\"database_uri\": \"duckdb:///d\", \"table\": \"t\"}]"`))
	b.ReportAllocs()
	for b.Loop() {
		told, _ := a.Pin(s, &flow)
		if len(a.Tell(s, told, adapter.Beside{}).Events) != 2 {
			b.Fatal("not two events")
		}
	}
}

// BenchmarkNews asks of a run of which all is told: what every poll asks of every row in its overlap.
func BenchmarkNews(b *testing.B) {
	a := newAdapter(b)
	s := taskSnapshot(taskRow())
	told, _ := a.Pin(s, nil)
	told.Phase, told.Start, told.EndType, told.End = adapter.Ended, at(2), adapter.Complete, at(5)
	b.ReportAllocs()
	for b.Loop() {
		if a.News(s, told) {
			b.Fatal("there is news")
		}
	}
}
