// Package differential holds the tests that give the same configurations and the same events to the OpenLineage Python
// client and to the listener, and compare what arrives. Where the two differ on purpose, the table in
// differences_test.go says why.
package differential
