// Package datahub shows Prefect's runs in DataHub: it maps OpenLineage events to DataHub's metadata and hands that to
// DataHub's server over REST, or to the Kafka topic that it reads.
//
// The parts are packages of their own and can be used without this one: urn names things, aspect says things about
// them, mcp puts both into proposals, rest and kafka send those, and mapping makes them of events.
//
// Flows, tasks and datasets are described when there is something new to say of them; what was said is remembered in
// memory, within bounds, and said again after a restart. The proposals of a run are always sent. An event counts as
// delivered once DataHub has all of its proposals.
package datahub
