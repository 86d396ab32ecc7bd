// Package kafka sends events to a Kafka topic. It serves the types kafka and msk-iam with the settings of the OpenLineage
// Python client, which are librdkafka's properties and some keys beside them.
//
// A record's value is the event's JSON and its key that of the Python client: the job at the root of the run's
// hierarchy, so that a hierarchy is one partition's and keeps its order there. Partitions follow from keys as
// librdkafka has it. Otherwise than there, a header carries the event's own key, by which a consumer can tell copies, and
// an event is delivered only once the brokers have acknowledged it.
package kafka
