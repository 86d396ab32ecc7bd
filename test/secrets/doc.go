// Package secrets puts a secret into every place from which one could come, and looks for it in everything that the
// listener lets out or keeps.
package secrets
