// Package kafka sends DataHub's metadata change proposals over Kafka: Avro under a schema of a schema registry, to the
// topic that DataHub reads. Nothing of DataHub itself has to be up, so a proposal goes out while DataHub is being upgraded.
//
// An Emitter never blocks on a broker or a registry. Emit encodes a proposal and queues it; its callback runs exactly
// once, whatever happens: on the emitter's own goroutine once the broker has the proposal or it is given up, or within
// Emit for one that is refused at once. Flush waits until all are settled, Close drains and then gives up the rest.
//
//	Emit ──► encode ──► room? ──► schema id known? ──yes──► franz-go's producer ──► settled ──► callback
//	                                    └──no──► waits, in order, until the registry gave it
//
// The client fails many records for one: a batch is refused as a whole, and what waits behind the oldest is given up with
// it. Those are sent again, so that each proposal fails by itself only.
//
// What is away at the start (broker, registry, both) only delays: proposals wait in the same bounded buffer until
// message.timeout.ms is over, counted from their Emit. What an operator has to mend (a registry that refuses the
// credentials or the schema) fails them at once instead.
//
// On the wire a value is the byte 0, the schema's id as four bytes with the highest first, and the Avro binary form; the
// key is the entity's URN, so that the proposals of one entity keep their order. The schema's text is that of DataHub's
// own Python client, so both have one id and their messages are the same bytes.
//
// Configuration has the names of that client: NewConfig takes the same map.
package kafka
