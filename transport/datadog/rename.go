package datadog

import (
	"encoding/json"
	"fmt"
)

// rename puts the job under the env, and with it every job that Datadog hears of from the same listener: the one that
// started the run, the one at the top, and those that it waited for. A job of somebody else's, which started a flow
// from outside, is in Datadog under the namespace that its own events give, and keeps it here.
func (s stamp) rename(job, facets object) error {
	own := job["namespace"]
	env, err := encode(s.env)
	if err != nil {
		return err
	}
	job["namespace"] = env
	if err := s.renameParents(facets, string(own), env); err != nil {
		return fmt.Errorf("its parent: %w", err)
	}
	if err := s.renameDependencies(facets, env); err != nil {
		return fmt.Errorf("its dependencies: %w", err)
	}
	return nil
}

func (s stamp) renameParents(facets object, own string, env json.RawMessage) error {
	if facets["parent"] == nil {
		return nil
	}
	parent, err := members(facets["parent"])
	if err != nil {
		return err
	}
	prefects := hasPrefectParent(facets["prefect_run"])
	if err := moveJob(parent, own, env, prefects); err != nil {
		return err
	}
	if parent["root"] != nil {
		root, err := members(parent["root"])
		if err != nil {
			return err
		}
		same := string(root["run"]) == string(parent["run"]) // the root is the parent itself
		if err := moveJob(root, own, env, prefects && same); err != nil {
			return err
		}
		if parent["root"], err = encode(root); err != nil {
			return err
		}
	}
	facets["parent"], err = encode(parent)
	return err
}

// hasPrefectParent says whether the run's parent is a run of Prefect's: a task run's always is, a flow run's where it
// was called as a subflow.
func hasPrefectParent(raw json.RawMessage) bool {
	var facet struct {
		Kind            string `json:"kind"`
		ParentTaskRunID string `json:"parentTaskRunId"`
	}
	if json.Unmarshal(raw, &facet) != nil {
		return false
	}
	return facet.Kind == "task-run" || facet.ParentTaskRunID != ""
}

// moveJob puts the job of a reference under the env, if it is one of the listener's: it is known to be, or its namespace
// is the one that the listener's own job had.
func moveJob(reference object, own string, env json.RawMessage, ours bool) error {
	job, err := members(reference["job"])
	if err != nil {
		return err
	}
	if job["namespace"] == nil || (!ours && string(job["namespace"]) != own) {
		return nil
	}
	job["namespace"] = env
	reference["job"], err = encode(job)
	return err
}

// renameDependencies puts the jobs that the run waited for under the env. All are Prefect's.
func (s stamp) renameDependencies(facets object, env json.RawMessage) error {
	if facets["jobDependencies"] == nil {
		return nil
	}
	facet, err := members(facets["jobDependencies"])
	if err != nil {
		return err
	}
	for _, side := range []string{"upstream", "downstream"} {
		if facet[side] == nil {
			continue
		}
		var all []object
		if err := json.Unmarshal(facet[side], &all); err != nil {
			return err
		}
		for _, dependency := range all {
			if err := moveJob(dependency, "", env, true); err != nil {
				return err
			}
		}
		if facet[side], err = encode(all); err != nil {
			return err
		}
	}
	facets["jobDependencies"], err = encode(facet)
	return err
}
