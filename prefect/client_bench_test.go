package prefect_test

import (
	"testing"
	"time"

	"github.com/prefect-openlineage/listener/prefect"
	"github.com/prefect-openlineage/listener/prefect/prefecttest"
)

// BenchmarkTaskRuns reads full pages of task runs, as a backfill does.
func BenchmarkTaskRuns(b *testing.B) {
	server := prefecttest.NewTCP(b)
	server.AddHistory(prefecttest.History{FlowRuns: 10, Tasks: 20, From: time.Now(), Lasts: time.Minute})
	client := server.Client(b)
	for b.Loop() {
		page, err := client.TaskRuns(b.Context(), prefect.Filter{Limit: prefect.MaxPage})
		if err != nil || len(page.Rows) != prefect.MaxPage {
			b.Fatalf("%d rows, %v", len(page.Rows), err)
		}
	}
	b.ReportMetric(float64(b.N*prefect.MaxPage)/b.Elapsed().Seconds(), "rows/s")
}
