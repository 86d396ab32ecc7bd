// Package oracle holds the tests that could show that the listener loses, repeats or reorders something: a history of
// flow runs that is known in full, the real binary, faults, and a judge over what each consumer got. See README.md.
package oracle
