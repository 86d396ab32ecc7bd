package adapter

import (
	"fmt"

	"github.com/prefect-openlineage/listener/openlineage"
)

// WarningRules are the rules that warnings of this package name, so that a metric can show each before its first.
func WarningRules() []string {
	return []string{
		"artifact-refused", "dataset-refused", "event-refused", "facet-refused", "facets-refused", "flow-unknown",
		"name-replaced", "namespace-replaced", "parent-ignored", "policy-tag", "run-id-replaced",
	}
}

// warning makes a warning about a run. Whatever of Prefect's data its text repeats is masked.
func warning(t Told, rule, format string, args ...any) Warning {
	kind := "task run"
	if t.Kind == FlowRun {
		kind = "flow run"
	}
	message := openlineage.MaskText(fmt.Sprintf(format, args...))
	return Warning{Rule: rule, Run: t.ID, Message: fmt.Sprintf("%s %s: %s", kind, t.ID, message)}
}
