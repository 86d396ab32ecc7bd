package kafka

import _ "embed"

// Schema is the Avro schema of a proposal, byte for byte the text that DataHub's Python client 1.7 registers: a registry
// tells schemas apart by their text, documentation included, and another text would be another id and another version.
// It is part of DataHub, under the Apache License 2.0 as this module is; NOTICE beside it says where it is from.
//
//go:embed MetadataChangeProposal.avsc
var Schema string

// DefaultTopic is where DataHub reads proposals.
const DefaultTopic = "MetadataChangeProposal_v1"

// Subject returns the name under which a topic's value schema is registered: what Confluent's clients call
// TopicNameStrategy, the only one that DataHub's clients use.
func Subject(topic string) string { return topic + "-value" }
