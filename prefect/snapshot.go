package prefect

// Snapshot is everything that was read about one run at one moment. Exactly one of FlowRun and TaskRun is set.
type Snapshot struct {
	FlowRun *FlowRun
	TaskRun *TaskRun

	// Flow and Deployment belong to the flow run, or to the task run's flow run. Nil: none, or gone.
	Flow       *Flow
	Deployment *Deployment
	// Placeholder is the task run that stands in for a subflow in its parent flow run.
	Placeholder *TaskRun
	// Artifacts are all table artifacts that the run itself made, every version of a key. They are read when the run
	// has ended.
	Artifacts []Artifact
	// Assets are the events about assets of a task run that has ended, in the order in which they occurred. They are
	// read apart from the rest, where the server shows them.
	Assets []AssetEvent

	Server Server
}

// Server is what is known of the Prefect server that was read.
type Server struct {
	// Version as /admin/version gives it, such as 3.9.1.
	Version string
	// UIURL is where people see the server's pages, without a slash at the end. Empty: unknown, no links.
	UIURL string
}

// State returns the run's state, nil while the server has none yet.
func (s Snapshot) State() *State {
	if s.FlowRun != nil {
		return s.FlowRun.State
	}
	return s.TaskRun.State
}
