package adapter

import (
	"github.com/prefect-openlineage/listener/openlineage"
	"github.com/prefect-openlineage/listener/prefect"
)

// trigger returns the automation that started a flow run, nil where none did. Prefect notes it when it makes the run and
// never changes it. Which event made the automation act is not in the run's row.
func trigger(r prefect.FlowRun) *openlineage.PrefectTrigger {
	by := r.CreatedBy
	if by == nil || by.Type == nil || *by.Type != "AUTOMATION" {
		return nil
	}
	return &openlineage.PrefectTrigger{Type: "automation", ID: deref(by.ID), Name: text(by.DisplayValue)}
}
