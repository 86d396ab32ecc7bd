package deploy_test

import (
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prefect-openlineage/listener/prefect/prefecttest"
	"github.com/prefect-openlineage/listener/test/docs"
	"github.com/prefect-openlineage/listener/test/rig"
)

const prefix = "prefect_openlineage_"

// TestMetricsAreKnown compares the metrics that the binary shows with the guide, both ways, and has the alert rules use
// none but these.
func TestMetricsAreKnown(t *testing.T) {
	t.Parallel()
	shown := shownMetrics(t)
	told := map[string]bool{}
	for _, table := range docs.Read(t, filepath.Join(rig.Root(), "docs", "operations.md")).Section(t, "Metrics").Tables {
		for _, row := range table.Rows {
			for _, name := range docs.Spans(row[0]) {
				told[prefix+name] = true
			}
		}
	}
	for name := range shown {
		if !told[name] {
			t.Errorf("docs/operations.md does not tell of %s", name)
		}
	}
	for name := range told {
		if !shown[name] {
			t.Errorf("docs/operations.md tells of %s, which the binary does not show", name)
		}
	}
	name := regexp.MustCompile(prefix + `[a-z0-9_]+`)
	for _, r := range rules(t) {
		for _, used := range name.FindAllString(r.Expr, -1) {
			if !shown[used] {
				t.Errorf("%s asks for %s, which the binary does not show", r.Alert, used)
			}
		}
	}
}

// shownMetrics runs the binary until it has polled once, and returns the names of its own metrics.
func shownMetrics(t *testing.T) map[string]bool {
	t.Helper()
	listener := rig.NewListener(t, prefecttest.NewTCP(t).URL)
	listener.Start()
	var names map[string]bool
	rig.Eventually(t, 20*time.Second, "the metrics show a poll", func() bool {
		addr := listener.Addr()
		if addr == "" {
			return false
		}
		page := get("http://" + addr + "/metrics")
		names = map[string]bool{}
		for line := range strings.Lines(page) {
			if name, ok := strings.CutPrefix(line, "# TYPE "); ok && strings.HasPrefix(name, prefix) {
				names[strings.Fields(name)[0]] = true
			}
		}
		return strings.Contains(page, prefix+`polls_total{result="ok"}`) && !strings.Contains(page, prefix+"polls_total{result=\"ok\"} 0\n")
	})
	return names
}

// get returns an answer's body; empty where there is none.
func get(url string) string {
	resp, err := http.Get(url)
	if err != nil {
		return ""
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	return string(body)
}
