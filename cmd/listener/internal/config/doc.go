// Package config reads the listener's settings from the environment, the Prefect profile and openlineage.yml, and
// keeps secrets from being printed.
package config
