package config

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/prefect-openlineage/listener/openlineage"
)

// DefaultNamespace stands where no namespace is set.
const DefaultNamespace = "default"

// names reads the switches that decide what events say.
func (l *loader) names(v Variables) {
	n := &l.cfg.Names
	n.Namespace = read(l, l.env("OPENLINEAGE_NAMESPACE", v.OpenLineageNamespace), DefaultNamespace, plain, namespace)
	n.Producer = read(l, l.env("LISTENER_PRODUCER", v.Producer), openlineage.Producer(l.in.Version), plain, producer)
	n.Policy = l.policy(l.env("LISTENER_POLICY", v.Policy))
	n.Parameters = read(l, l.env("LISTENER_PARAMETERS", v.Parameters), false, yesNo, boolean)
	n.TaskName = l.choose(l.taskName(v), "qualified", "base", "full")
	n.FlowName = l.choose(l.env("FLOW_NAME_TYPE", v.FlowNameType), "flow", "flow-run", "path")
	n.RunID = l.choose(l.env("RUN_ID_TYPE", v.RunIDType), "prefect", "openlineage-prefect")
	n.DatasetNaming = l.choose(l.env("DATASET_NAMING", v.DatasetNaming), "spec", "verbatim")
	n.DatasetMap = l.datasetMap(l.env("DATASET_MAP", v.DatasetMap))
	n.DatasetsOnFailure = l.choose(l.env("DATASETS_ON_FAILURE", v.DatasetsOnFailure), "observed", "last")
	n.FlowDatasets = l.choose(l.env("FLOW_DATASETS", v.FlowDatasets), "none", "rollup")
}

// choose reads one of a few words, of which the first holds without any.
func (l *loader) choose(from raw, words ...string) string {
	return read(l, from, words[0], plain, func(text string) (string, error) { return choice(text, words...) })
}

// taskName is TASK_NAME_TYPE, else its old name.
func (l *loader) taskName(v Variables) raw {
	now, old := l.env("TASK_NAME_TYPE", v.TaskNameType), l.env("JOB_NAME_TYPE", v.JobNameType)
	switch {
	case old.text == "":
		return now
	case now.text == "":
		l.warn(old.name, "is the old name of %s, under which it will still be read", now.name)
		return raw{name: old.name, text: old.text, origin: old.origin}
	default:
		if !strings.EqualFold(old.text, now.text) {
			l.warn(old.name, "does not count, since %s is set", now.name)
		}
		return now
	}
}

func namespace(text string) (string, error) {
	if err := openlineage.CheckNamespace(text); err != nil {
		return "", fmt.Errorf("takes a name: %w", err)
	}
	return text, nil
}

func producer(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme == "" || (u.Host == "" && u.Opaque == "") || u.User != nil {
		return "", errors.New("takes a URI, such as https://example.com/lineage")
	}
	return text, nil
}

func plain(text string) string { return text }

func yesNo(on bool) string {
	if on {
		return "true"
	}
	return "false"
}
