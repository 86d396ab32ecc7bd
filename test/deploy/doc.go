// Package deploy checks what stands in the deploy folder against the program and against the tools that read it.
package deploy
