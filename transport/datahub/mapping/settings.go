package mapping

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Scheme says how flows and tasks are named.
type Scheme string

const (
	// OpenLineage names as DataHub's own OpenLineage endpoint does: the flow is the job's name up to its first dot, its
	// cluster the job's namespace or the platform instance, and the task's id the whole name of the job.
	OpenLineage Scheme = "openlineage"
	// PrefectDataHub names as the package prefect-datahub does: the flow is Prefect's flow name behind the platform
	// instance, its cluster the environment, and the task's id Prefect's task key.
	PrefectDataHub Scheme = "prefect-datahub"
)

// Schemes are all of them.
func Schemes() []Scheme { return []Scheme{OpenLineage, PrefectDataHub} }

// Settings say how events are mapped.
type Settings struct {
	URNs Scheme
	// Orchestrator is the platform of flows, in lower case. Empty: the event's integration, else its engine's name.
	Orchestrator string
	// Env is the environment of flows, tasks and datasets, one of Envs.
	Env string
	// PlatformInstance is the installation of the orchestrator; empty: the only one.
	PlatformInstance string
	// CancelledAs is the result of a run that was cancelled: aspect.Skipped or aspect.Failure.
	CancelledAs string
	// Datasets say on which platform and instance a dataset is; the first rule that matches its namespace counts.
	Datasets []Rule
	// Materialize makes the datasets of an event known, and shows those that were hidden.
	Materialize bool
	// Schema writes the schemas that events name; they take the place of those that DataHub has.
	Schema bool
	// Columns adds the lineage of columns.
	Columns bool
	// PlainPatches adds tags and owners in the form that servers before 1.0 take.
	PlainPatches bool
	// DatasetLineage adds lineage from dataset to dataset beside that through the task.
	DatasetLineage bool
}

// Rule says where the datasets of a namespace are.
type Rule struct {
	// Namespace must match the whole of a dataset's namespace.
	Namespace *regexp.Regexp
	// Platform is DataHub's name of the platform. Empty: what the namespace says.
	Platform string
	// Instance is the installation of the platform, NamePrefix what stands before the name; $1 and ${name} stand for
	// what the groups of Namespace matched.
	Instance   string
	NamePrefix string
	// Env is one of Envs. Empty: that of the settings.
	Env string
	// LowerCase writes names in lower case.
	LowerCase bool
}

// Envs returns the environments that DataHub knows.
func Envs() []string {
	return []string{
		"PROD", "DEV", "TEST", "QA", "UAT", "EI", "PRE", "STG", "NON_PROD", "CORP", "RVW", "PRD", "TST", "SIT", "SBX",
		"SANDBOX", "CERT",
	}
}

// ParseEnv returns an environment as DataHub writes it, in capitals.
func ParseEnv(text string) (string, error) {
	env := strings.ToUpper(text)
	if !slices.Contains(Envs(), env) {
		return "", fmt.Errorf("%q is no environment of DataHub: there are %s", text, strings.Join(Envs(), ", "))
	}
	return env, nil
}

// ParseNamespace compiles the pattern of a rule.
func ParseNamespace(pattern string) (*regexp.Regexp, error) {
	return regexp.Compile(`\A(?:` + pattern + `)\z`)
}
