// Package mapping makes of an OpenLineage run event what DataHub is to be told: a flow becomes a dataFlow, a task a
// dataJob, a run a dataProcessInstance, and the datasets datasets. It does no I/O and keeps nothing: the same event, the
// same settings and the same memory give the same proposals.
//
// What several writers share in DataHub (tags, owners, lineage, a dataset's description) is only ever added to, by
// patches. A run that failed or names no dataset takes nothing away.
package mapping
