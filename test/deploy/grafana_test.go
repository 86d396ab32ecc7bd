package deploy_test

import (
	"encoding/json"
	"regexp"
	"testing"
)

// TestDashboard has the dashboard ask for no metric that the binary does not show, and for each metric that
// the alerts are about, so that whoever is woken finds it there.
func TestDashboard(t *testing.T) {
	t.Parallel()
	var dashboard object
	if err := json.Unmarshal([]byte(read(t, "deploy", "grafana", "dashboard.json")), &dashboard); err != nil {
		t.Fatal(err)
	}
	shown := shownMetrics(t)
	suffix := regexp.MustCompile(`_(bucket|sum|count)$`)
	name := regexp.MustCompile(prefix + `[a-z0-9_]+`)
	asked := map[string]bool{}
	ask := func(where, expression string) {
		for _, used := range name.FindAllString(expression, -1) {
			if shown[used] || shown[suffix.ReplaceAllString(used, "")] {
				asked[used] = true
				continue
			}
			t.Errorf("%s asks for %s, which the binary does not show", where, used)
		}
	}
	panels, ids := 0, map[any]bool{}
	for _, panel := range dashboard.list("panels") {
		title := panel.text("title")
		if ids[panel["id"]] {
			t.Errorf("%s has the id of another panel", title)
		}
		ids[panel["id"]] = true
		if panel.text("type") == "row" {
			continue
		}
		panels++
		targets := panel.list("targets")
		if len(targets) == 0 || panel.text("description") == "" {
			t.Errorf("%s asks for nothing, or does not say what it shows", title)
		}
		for _, target := range targets {
			ask(title, target.text("expr"))
		}
	}
	if panels < 20 {
		t.Errorf("%d panels", panels)
	}
	for _, variable := range dashboard.list("templating", "list") {
		ask("the variable "+variable.text("name"), variable.text("query", "query"))
	}
	for _, r := range rules(t) {
		for _, used := range name.FindAllString(r.Expr, -1) {
			if !asked[used] {
				t.Errorf("%s is about %s, which no panel shows", r.Alert, used)
			}
		}
	}
}
