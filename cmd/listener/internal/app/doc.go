// Package app wires the listener's parts together, starts them, and stops them in an order that loses nothing. It
// never touches signals, the environment or exit codes, so that tests can run it in their own process.
package app
