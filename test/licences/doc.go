// Package licences reads under which terms the modules are that the listener is made of. Its test holds docs/licences.md to
// what stands in the modules themselves.
package licences
