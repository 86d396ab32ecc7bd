// Package e2e tests the listener as a binary against real servers: Prefect, and Marquez where there is one.
package e2e
