// Package kafka holds the tests on a real Kafka: what arrives of a thousand runs while a broker is killed, what brokers
// say to wrong logins, missing rights and topics, and that a record is where the Python client would have put it.
//
// Each process of tests starts a broker of its own from Kafka's jars, in the folder that KAFKA_LIBS names.
package kafka
