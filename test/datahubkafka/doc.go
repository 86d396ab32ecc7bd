// Package datahubkafka runs the DataHub Kafka emitter on a real broker with a real schema registry, beside DataHub's own
// Python emitter.
package datahubkafka
