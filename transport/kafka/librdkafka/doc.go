// Package librdkafka reads a producer's settings under the names that librdkafka has for them, and makes the options of
// a pure Go client (franz-go) of them: the OpenLineage Python client, DataHub's and most others hand such properties
// to librdkafka, so these are the names that people have.
//
// Parse is pure: it reads and checks values. Options reads the files that the settings name, so that a certificate that
// was renewed counts with the next client.
//
// The names, ranges and defaults are those of librdkafka's CONFIGURATION.md. What is done otherwise:
//
//   - enable.idempotence is on unless it is switched off: a retry within the client makes no copy and keeps order.
//   - acks=0 becomes 1: nobody says of an event without an acknowledgement whether it arrived.
//   - A name that nobody knows warns instead of failing, one line for all.
//   - GSSAPI (Kerberos), transactions, PKCS#12 key stores and what loads code are refused by name.
package librdkafka
