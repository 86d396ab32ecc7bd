// Package config reads the listener's settings from the environment, the Prefect profile and openlineage.yml, and
// keeps secrets from being printed.
//
// Load is pure: what the process was started with comes in as an Input, and the files it names are read through the
// Input's file system. FromProcess, which only main calls, makes the Input of the real process.
//
// Every value knows where it came from, so that a problem names what the user wrote: a variable, or a line of a file.
// All problems are found in one go.
//
// # What envconfig does here, and what it does not
//
// The variables with fixed names are the tagged fields of Variables, which envconfig fills and lists. They are plain
// text, because of how envconfig works: it reads the process's own environment and no other, so that typed fields
// could only be tested by changing the environment of the test; it stops at the first value it can't convert, and its
// message shows that value, secret or not; and a default tag would hide whether a variable was set, and so its origin.
package config
