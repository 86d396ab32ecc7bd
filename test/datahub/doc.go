// Package datahub tests what DataHub gets of flows on a real Prefect: over REST, recorded by servers of an old and a new
// version, and over a real Kafka, read back by DataHub's own client. Every aspect is held to DataHub's own classes, and
// every run to what its events say.
package datahub
