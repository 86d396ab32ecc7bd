package urn

import (
	"fmt"
	"strings"
)

// The defaults of DataHub's own builders.
const (
	DefaultEnv     = "PROD" // of a dataset
	DefaultCluster = "prod" // of a data flow; it is another text than PROD
)

// DatasetKey names a dataset.
type DatasetKey struct {
	Platform string // its name, such as postgres, or its URN; reading gives the name
	Name     string
	Env      string // such as PROD; written in capitals. Empty: DefaultEnv
}

// Dataset returns the key of a dataset on one instance of its platform, which stands before its name; an empty instance
// stands for a platform that has only one.
func Dataset(platform, instance, name, env string) DatasetKey {
	return DatasetKey{Platform: platform, Name: onInstance(instance, name), Env: env}
}

func onInstance(instance, name string) string {
	if instance == "" {
		return name
	}
	return instance + "." + name
}

// URN writes the key. A reserved character has no place in an environment.
func (k DatasetKey) URN() (string, error) {
	platform, err := platformURN(k.Platform)
	if err != nil {
		return "", fmt.Errorf("a dataset's platform: %w", err)
	}
	env := k.Env
	if env == "" {
		env = DefaultEnv
	}
	if Encode(env) != env {
		return "", fmt.Errorf("a dataset's environment %.100q holds a reserved character (comma, bracket or U+241F)", env)
	}
	return build(DatasetType, platform, k.Name, strings.ToUpper(env))
}

// platformURN takes a name or a platform's URN. Any other URN is a mistake, though its text could be a name.
func platformURN(platform string) (string, error) {
	if strings.HasPrefix(platform, prefix) && !strings.HasPrefix(platform, prefix+DataPlatformType+":") {
		return "", fmt.Errorf("%.100q is the URN of something else", platform)
	}
	return DataPlatform(platform)
}

// ParseDataset reads a dataset's URN.
func ParseDataset(text string) (DatasetKey, error) {
	parts, err := parseAs(text, DatasetType)
	if err != nil {
		return DatasetKey{}, err
	}
	platform, err := ParsePlatform(parts[0])
	if err != nil {
		return DatasetKey{}, err
	}
	return DatasetKey{Platform: platform, Name: parts[1], Env: parts[2]}, nil
}

// DataFlowKey names a flow, DAG or pipeline.
type DataFlowKey struct {
	Orchestrator string // such as prefect
	Flow         string
	Cluster      string // an environment or a namespace, written as it is. Empty: DefaultCluster
}

// DataFlow returns the key of a flow on one instance of its orchestrator, which stands before its id; an empty instance
// stands for an orchestrator that has only one.
func DataFlow(orchestrator, instance, flow, cluster string) DataFlowKey {
	return DataFlowKey{Orchestrator: orchestrator, Flow: onInstance(instance, flow), Cluster: cluster}
}

// URN writes the key.
func (k DataFlowKey) URN() (string, error) {
	cluster := k.Cluster
	if cluster == "" {
		cluster = DefaultCluster
	}
	return build(DataFlowType, k.Orchestrator, k.Flow, cluster)
}

// ParseDataFlow reads a flow's URN.
func ParseDataFlow(text string) (DataFlowKey, error) {
	parts, err := parseAs(text, DataFlowType)
	if err != nil {
		return DataFlowKey{}, err
	}
	return DataFlowKey{Orchestrator: parts[0], Flow: parts[1], Cluster: parts[2]}, nil
}

// DataJobKey names a task of a flow.
type DataJobKey struct {
	Flow DataFlowKey
	Job  string
}

// URN writes the key.
func (k DataJobKey) URN() (string, error) {
	flow, err := k.Flow.URN()
	if err != nil {
		return "", err
	}
	return DataJobOf(flow, k.Job)
}

// DataJobOf returns the URN of a task of the flow that has the given URN.
func DataJobOf(flow, job string) (string, error) { return build(DataJobType, flow, job) }

// ParseDataJob reads a task's URN.
func ParseDataJob(text string) (DataJobKey, error) {
	parts, err := parseAs(text, DataJobType)
	if err != nil {
		return DataJobKey{}, err
	}
	flow, err := ParseDataFlow(parts[0])
	if err != nil {
		return DataJobKey{}, err
	}
	return DataJobKey{Flow: flow, Job: parts[1]}, nil
}

// SchemaFieldKey names a column.
type SchemaFieldKey struct {
	Parent string // the URN of the dataset, or of what else has columns
	Path   string // the field's path in the schema, such as address.town
}

// URN writes the key.
func (k SchemaFieldKey) URN() (string, error) { return build(SchemaFieldType, k.Parent, k.Path) }

// ParseSchemaField reads a column's URN.
func ParseSchemaField(text string) (SchemaFieldKey, error) {
	parts, err := parseAs(text, SchemaFieldType)
	if err != nil {
		return SchemaFieldKey{}, err
	}
	return SchemaFieldKey{Parent: parts[0], Path: parts[1]}, nil
}

// DataPlatformInstanceKey names one of several installations of a platform.
type DataPlatformInstanceKey struct {
	Platform string // its name or its URN; reading gives the name
	Instance string // its name, or the whole URN of an instance, which counts as it is
}

// URN writes the key.
func (k DataPlatformInstanceKey) URN() (string, error) {
	if strings.HasPrefix(k.Instance, prefix+DataPlatformInstanceType+":") {
		_, err := ParseDataPlatformInstance(k.Instance)
		return k.Instance, err
	}
	platform, err := platformURN(k.Platform)
	if err != nil {
		return "", fmt.Errorf("an instance's platform: %w", err)
	}
	return build(DataPlatformInstanceType, platform, k.Instance)
}

// ParseDataPlatformInstance reads an installation's URN.
func ParseDataPlatformInstance(text string) (DataPlatformInstanceKey, error) {
	parts, err := parseAs(text, DataPlatformInstanceType)
	if err != nil {
		return DataPlatformInstanceKey{}, err
	}
	platform, err := ParsePlatform(parts[0])
	if err != nil {
		return DataPlatformInstanceKey{}, err
	}
	return DataPlatformInstanceKey{Platform: platform, Instance: parts[1]}, nil
}
