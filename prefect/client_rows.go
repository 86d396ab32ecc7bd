package prefect

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/google/uuid"
)

// The methods here read rows leniently: times in every form that Prefect 2 and 3 send, numbers in any notation, and
// nothing that only decorates a run (tags, parameters, who made it) can make the run itself unreadable. What names or
// orders a run (ids, state, times) must be right, or the row is refused and kept for a person to look at.

// UnmarshalJSON implements json.Unmarshaler.
func (s *State) UnmarshalJSON(raw []byte) error {
	type plain State
	wire := struct {
		*plain
		Name      text  `json:"name"`
		Timestamp stamp `json:"timestamp"`
		Message   *text `json:"message"`
	}{plain: (*plain)(s)}
	if err := json.Unmarshal(raw, &wire); err != nil {
		return err
	}
	if s.Type == "" || wire.Timestamp.IsZero() {
		return errors.New("a state without type or timestamp")
	}
	s.Name, s.Timestamp, s.Message = string(wire.Name), wire.Timestamp.Time, wire.Message.pointer()
	return nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (r *FlowRun) UnmarshalJSON(raw []byte) error {
	type plain FlowRun
	type below struct{ *plain } // a level deeper, so that the fields of runTimes win
	wire := struct {
		below
		runTimes
		DeploymentVersion *text    `json:"deployment_version"`
		Tags              texts    `json:"tags"`
		Parameters        object   `json:"parameters"`
		JobVariables      object   `json:"job_variables"`
		WorkPoolName      *text    `json:"work_pool_name"`
		WorkQueueName     *text    `json:"work_queue_name"`
		CreatedBy         *creator `json:"created_by"`
	}{below: below{(*plain)(r)}}
	if err := json.Unmarshal(raw, &wire); err != nil {
		return err
	}
	r.RunCount, r.Created = int(wire.RunCount), wire.Created.Time
	r.ExpectedStartTime, r.StartTime, r.EndTime = wire.Expected.pointer(), wire.Start.pointer(), wire.End.pointer()
	r.DeploymentVersion, r.Tags = wire.DeploymentVersion.pointer(), wire.Tags
	r.Parameters, r.JobVariables = wire.Parameters, wire.JobVariables
	r.WorkPoolName, r.WorkQueueName = wire.WorkPoolName.pointer(), wire.WorkQueueName.pointer()
	r.CreatedBy = (*Creator)(wire.CreatedBy)
	return nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (r *TaskRun) UnmarshalJSON(raw []byte) error {
	type plain TaskRun
	type below struct{ *plain } // a level deeper, so that the fields of runTimes win
	wire := struct {
		below
		runTimes
		DynamicKey text   `json:"dynamic_key"`
		TaskInputs object `json:"task_inputs"`
		Tags       texts  `json:"tags"`
	}{below: below{(*plain)(r)}}
	if err := json.Unmarshal(raw, &wire); err != nil {
		return err
	}
	r.RunCount, r.Created = int(wire.RunCount), wire.Created.Time
	r.ExpectedStartTime, r.StartTime, r.EndTime = wire.Expected.pointer(), wire.Start.pointer(), wire.End.pointer()
	r.DynamicKey, r.Tags = string(wire.DynamicKey), wire.Tags
	if wire.TaskInputs != nil {
		r.TaskInputs = make(map[string][]TaskInput, len(wire.TaskInputs))
	}
	for name, value := range wire.TaskInputs {
		var several inputs
		if err := json.Unmarshal(value, &several); err != nil {
			return err
		}
		r.TaskInputs[name] = several
	}
	return nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (f *Flow) UnmarshalJSON(raw []byte) error {
	type plain Flow
	wire := struct {
		*plain
		Tags texts `json:"tags"`
	}{plain: (*plain)(f)}
	if err := json.Unmarshal(raw, &wire); err != nil {
		return err
	}
	f.Tags = wire.Tags
	return nil
}

// UnmarshalJSON implements json.Unmarshaler. Prefect 2 calls the job variables infra_overrides.
func (d *Deployment) UnmarshalJSON(raw []byte) error {
	type plain Deployment
	wire := struct {
		*plain
		Version        *text  `json:"version"`
		Created        stamp  `json:"created"`
		Description    *text  `json:"description"`
		Tags           texts  `json:"tags"`
		Entrypoint     *text  `json:"entrypoint"`
		Path           *text  `json:"path"`
		PullSteps      items  `json:"pull_steps"`
		JobVariables   object `json:"job_variables"`
		InfraOverrides object `json:"infra_overrides"`
		WorkPoolName   *text  `json:"work_pool_name"`
	}{plain: (*plain)(d)}
	if err := json.Unmarshal(raw, &wire); err != nil {
		return err
	}
	d.Version, d.Created, d.Description = wire.Version.pointer(), wire.Created.Time, wire.Description.pointer()
	d.Tags, d.Entrypoint, d.Path = wire.Tags, wire.Entrypoint.pointer(), wire.Path.pointer()
	d.PullSteps, d.JobVariables, d.WorkPoolName = wire.PullSteps, wire.JobVariables, wire.WorkPoolName.pointer()
	if d.JobVariables == nil {
		d.JobVariables = wire.InfraOverrides
	}
	return nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (a *Artifact) UnmarshalJSON(raw []byte) error {
	type plain Artifact
	wire := struct {
		*plain
		Key         *text `json:"key"`
		Type        *text `json:"type"`
		Description *text `json:"description"`
		Created     stamp `json:"created"`
	}{plain: (*plain)(a)}
	if err := json.Unmarshal(raw, &wire); err != nil {
		return err
	}
	a.Key, a.Type, a.Description = wire.Key.pointer(), wire.Type.pointer(), wire.Description.pointer()
	a.Created = wire.Created.Time
	return nil
}

// runTimes are the fields that flow runs and task runs share and that come in several forms.
type runTimes struct {
	RunCount count  `json:"run_count"`
	Expected *stamp `json:"expected_start_time"`
	Start    *stamp `json:"start_time"`
	End      *stamp `json:"end_time"`
	Created  stamp  `json:"created"`
}

// decodeRow reads one row and checks that it has what no caller can do without.
func decodeRow[T any](raw []byte) (T, error) {
	var row T
	var err error
	if reads, ok := any(&row).(json.Unmarshaler); ok {
		err = reads.UnmarshalJSON(raw) // json.Unmarshal would only look first whether it is JSON
	} else {
		err = json.Unmarshal(raw, &row)
	}
	if err != nil {
		return row, err
	}
	var missing string
	switch row := any(row).(type) {
	case FlowRun:
		missing = firstMissing(need{"id", row.ID != uuid.Nil}, need{"flow_id", row.FlowID != uuid.Nil})
	case TaskRun:
		missing = firstMissing(need{"id", row.ID != uuid.Nil}, need{"task_key", row.TaskKey != ""})
	case Flow:
		missing = firstMissing(need{"id", row.ID != uuid.Nil}, need{"name", row.Name != ""})
	case Deployment:
		missing = firstMissing(need{"id", row.ID != uuid.Nil})
	case Artifact:
		missing = firstMissing(need{"id", row.ID != uuid.Nil})
	}
	if missing != "" {
		return row, fmt.Errorf("no %s", missing)
	}
	return row, nil
}

type need struct {
	name string
	met  bool
}

func firstMissing(needs ...need) string {
	for _, n := range needs {
		if !n.met {
			return n.name
		}
	}
	return ""
}

// rowID finds the id in a row that is not readable as a whole.
var rowID = regexp.MustCompile(`"id"\s*:\s*"([0-9a-fA-F-]{32,36})"`)

// badRow keeps a row that could not be understood.
func badRow(resource string, raw []byte, reason string) BadRow {
	bad := BadRow{Resource: resource, Reason: reason, Raw: append([]byte(nil), raw...)}
	var named struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(raw, &named); err == nil || named.ID != "" {
		bad.ID = named.ID
	} else if found := rowID.FindSubmatch(raw); found != nil {
		bad.ID = string(found[1])
	}
	return bad
}

// timeForms are the ways in which servers write times: with Z (3.x), with an offset (2.x), and without either.
var timeForms = []string{
	time.RFC3339Nano, "2006-01-02T15:04:05.999999999Z0700", "2006-01-02T15:04:05.999999999Z07",
	"2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999Z07",
	"2006-01-02 15:04:05.999999999",
}

// parseTime reads a time; one without a zone is UTC. Years that JSON can't write again are refused.
func parseTime(value string) (time.Time, error) {
	for _, form := range timeForms {
		at, err := time.Parse(form, value)
		if err != nil {
			continue
		}
		if at = at.UTC(); at.Year() < 1 || at.Year() > 9999 {
			break
		}
		return at, nil
	}
	return time.Time{}, fmt.Errorf("%q is no time", value)
}
