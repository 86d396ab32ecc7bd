package adapter

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/openlineage"
)

// The variables by which a tool that starts a Prefect flow names itself as parent. The first one counts before the
// other two.
const (
	contextVariable    = "OPENLINEAGE_CONTEXT"        // JSON: {"parent":{"run":{…},"job":{…},"root":{…}}}
	parentVariable     = "OPENLINEAGE_PARENT_ID"      // namespace/job name/run id
	rootParentVariable = "OPENLINEAGE_ROOT_PARENT_ID" // likewise, the top of the tree
)

// outsideParent reads the parent that a root flow run was given by whatever started it. Both results are nil if there
// is none. An incomplete one does not count, since half a parent facet makes consumers invent jobs; then the older
// variables are read, and without a root that can be read the parent is taken for the top, as dbt's integration does.
// The error says what did not count.
func outsideParent(env environment) (parent, root *RunRef, err error) {
	if text, ok := env[contextVariable]; ok {
		if parent, root, err = contextParent(text); parent != nil {
			return parent, root, err
		}
	}
	text, ok := env[parentVariable]
	if !ok {
		return nil, nil, err
	}
	ref, wrong := parseRunRef(text)
	if wrong != nil {
		return nil, nil, errors.Join(err, fmt.Errorf("%s: %w", parentVariable, wrong))
	}
	top := ref
	if text, ok := env[rootParentVariable]; ok {
		if given, wrong := parseRunRef(text); wrong != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", rootParentVariable, wrong))
		} else {
			top = given
		}
	}
	return &ref, &top, err
}

// parseRunRef reads namespace/name/run id. A namespace may hold slashes of its own (airflow://host); the last two parts
// may not.
func parseRunRef(text string) (RunRef, error) {
	name, id, ok := cutLast(text, "/")
	if !ok {
		return RunRef{}, errors.New("is not namespace/job name/run id")
	}
	namespace, name, ok := cutLast(name, "/")
	if !ok {
		return RunRef{}, errors.New("is not namespace/job name/run id")
	}
	return runRef(namespace, name, id)
}

func cutLast(s, separator string) (before, after string, found bool) {
	i := strings.LastIndex(s, separator)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(separator):], true
}

// runRef checks the parts of a reference that came from outside.
func runRef(namespace, name, id string) (RunRef, error) {
	runID, err := uuid.Parse(id)
	if err != nil || runID == uuid.Nil {
		return RunRef{}, errors.New("its run id is no UUID")
	}
	if openlineage.CheckNamespace(namespace) != nil {
		return RunRef{}, errors.New("its namespace is empty or unfit")
	}
	if _, changed := cleanName(name); changed {
		return RunRef{}, errors.New("its job name is empty or unfit")
	}
	return RunRef{RunID: runID, Namespace: namespace, Name: name}, nil
}

// outsideRef is a run as OPENLINEAGE_CONTEXT names it.
type outsideRef struct {
	Run struct {
		ID string `json:"runId"`
	} `json:"run"`
	Job struct {
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
	} `json:"job"`
}

func (o outsideRef) ref() (RunRef, error) { return runRef(o.Job.Namespace, o.Job.Name, o.Run.ID) }

func contextParent(text string) (parent, root *RunRef, err error) {
	var context struct {
		Parent *struct {
			outsideRef
			Root *outsideRef `json:"root"`
		} `json:"parent"`
		Root *outsideRef `json:"root"` // some tools put it beside the parent
	}
	if json.Unmarshal([]byte(text), &context) != nil {
		return nil, nil, fmt.Errorf("%s is not the JSON that it should be", contextVariable)
	}
	if context.Parent == nil {
		return nil, nil, fmt.Errorf("%s names no parent", contextVariable)
	}
	ref, err := context.Parent.ref()
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", contextVariable, err)
	}
	given := context.Parent.Root
	if given == nil {
		given = context.Root
	}
	if given == nil {
		return &ref, &ref, nil
	}
	top, err := given.ref()
	if err != nil {
		return &ref, &ref, fmt.Errorf("%s, its root: %w", contextVariable, err)
	}
	return &ref, &top, nil
}
