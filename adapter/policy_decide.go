package adapter

import (
	"fmt"
	"slices"

	"github.com/prefect-openlineage/listener/openlineage"
	"github.com/prefect-openlineage/listener/prefect"
)

// rank is how strongly something speaks: the strongest word decides. Locked rules stand above all others.
type rank uint8

const (
	byDefault rank = iota // a rule about every run, or no rule
	byWorkPool
	byTag
	byFlow
	byDeployment
	byTask
	byAuthor
	locked // added to a locked rule's own
)

// Ruling is what was decided of a run at first sight: whether it is told about, and what holds for what runs inside it
// unless something stronger speaks there. It is a plain number for the ledger; 0 tells of everything.
type Ruling uint8

const (
	silentRun   Ruling = 1 << iota // nothing is said of the run, nor of subflows in it
	silentTasks                    // nor of its tasks
	filteredOut                    // nothing is said of the run, whatever holds for others in it
	rankShift   = iota             // the bits from here on are the rank of what decided
)

func ruling(emit, emitTasks bool, by rank) Ruling {
	r := Ruling(by) << rankShift
	if !emit {
		r |= silentRun
	}
	if !emitTasks {
		r |= silentTasks
	}
	return r
}

// Silent says whether nothing is said of the run.
func (r Ruling) Silent() bool { return r&(silentRun|filteredOut) != 0 }

func (r Ruling) rank() rank { return rank(r >> rankShift) }

// forTasks is the ruling as the tasks of the run take it over.
func (r Ruling) forTasks() Ruling { return ruling(r&silentTasks == 0, r&silentTasks == 0, r.rank()) }

// Words for what decided about a run beside a rule's number, for metrics.
const (
	DecidedByTag       = "tag"      // the author's
	DecidedByVariable  = "variable" // OPENLINEAGE_DISABLED in job variables
	DecidedByFlowRun   = "flow-run" // the run inside which it runs
	DecidedByNothing   = "none"     // no rule applies: it is told about
	DecidedByFilter    = "filter"   // one of openlineage.yml names the job
	decidedByRuleStart = "rule-"    // and the rule's number, from 1
	disabledVariable   = "OPENLINEAGE_DISABLED"
	authorsTag         = "openlineage:" // on or off
)

// DecidedBy returns every word that may stand in Decision.By.
func (p Policy) DecidedBy() []string {
	words := []string{DecidedByTag, DecidedByVariable, DecidedByFlowRun, DecidedByNothing, DecidedByFilter}
	for i := range p.rules {
		words = append(words, fmt.Sprintf("%s%d", decidedByRuleStart, i+1))
	}
	return words
}

// Decision is a ruling and what it comes from.
type Decision struct {
	Ruling Ruling
	By     string // one of Policy.DecidedBy
	Why    string // the same for people, to follow "because of"
}

// Decide says whether a run that was not seen before is told about. Parent is the entry of the run inside which it
// runs, as for Pin, which pins the ruling.
func (a *Adapter) Decide(s prefect.Snapshot, parent *Told) Decision {
	r, ok := rowOf(s)
	if !ok {
		return Decision{By: DecidedByNothing}
	}
	p := pinning{adapter: a, snapshot: s, row: r, parent: parent}
	p.job()
	return p.decision(wordOf(s, r))
}

// decision is what the policy says of a run, unless a filter names its job: that counts before all else.
func (p *pinning) decision(author word) Decision {
	d := p.adapter.settings.Policy.decide(matterOf(p.snapshot, p.row), author, inherited(p.snapshot, p.parent))
	names := func(f openlineage.Filter) bool { return f.Matches(p.told.Run.Name) }
	if slices.ContainsFunc(p.adapter.settings.Filters, names) {
		return Decision{Ruling: d.Ruling | filteredOut, By: DecidedByFilter, Why: "a filter of openlineage.yml"}
	}
	return d
}

// DecidedBy returns every word that may stand in Decision.By.
func (a *Adapter) DecidedBy() []string { return a.settings.Policy.DecidedBy() }

// inherited returns the ruling that a run takes over from the run inside which it runs; nil: none. A flow run with a
// deployment of its own runs in a process of its own and is decided about by itself, whoever started it.
func inherited(s prefect.Snapshot, parent *Told) *Ruling {
	switch {
	case parent == nil || s.FlowRun != nil && s.FlowRun.DeploymentID != nil:
		return nil
	case s.TaskRun != nil:
		return new(parent.Ruling.forTasks())
	default:
		return new(parent.Ruling &^ filteredOut)
	}
}

// decide lets the strongest word count; of equal ones what is said of the run itself counts before what it takes over,
// and a later rule before an earlier.
func (p Policy) decide(m matter, author word, above *Ruling) Decision {
	best := Decision{By: DecidedByNothing, Why: "no rule speaks against it"}
	if above != nil && *above != 0 {
		best = Decision{Ruling: *above, By: DecidedByFlowRun, Why: "its flow run"}
	}
	for i, r := range p.rules {
		if r.rank < best.Ruling.rank() || !m.concerns(r, above != nil) || !r.matches(m) {
			continue
		}
		emit := r.emit
		if m.isTask && r.task == nil {
			emit = r.emitTasks
		}
		best = Decision{
			Ruling: ruling(emit, r.emitTasks, r.rank),
			By:     fmt.Sprintf("%s%d", decidedByRuleStart, i+1),
			Why:    fmt.Sprintf("rule %d of LISTENER_POLICY (%s)", i+1, r.words),
		}
	}
	if author.said && byAuthor >= best.Ruling.rank() {
		best = Decision{Ruling: ruling(author.on, author.on, byAuthor), By: author.by, Why: author.why}
	}
	return best
}

// matter is what rules look at in a run; what is empty is not there.
type matter struct {
	isTask                           bool
	flow, deployment, task, workPool string
	tags                             []string
}

func matterOf(s prefect.Snapshot, r row) matter {
	m := matter{isTask: r.kind == TaskRun, tags: r.tags}
	if s.Flow != nil {
		m.flow = s.Flow.Name
	}
	if s.Deployment != nil {
		m.deployment = s.Deployment.Name
		m.workPool = plainText(s.Deployment.WorkPoolName)
	}
	if m.isTask {
		m.task = taskName(*s.TaskRun)
		return m
	}
	if s.FlowRun.WorkPoolName != nil {
		m.workPool = *s.FlowRun.WorkPoolName
	}
	m.tags = append([]string(nil), m.tags...)
	if s.Deployment != nil {
		m.tags = append(m.tags, s.Deployment.Tags...)
	}
	if s.Flow != nil {
		m.tags = append(m.tags, s.Flow.Tags...)
	}
	return m
}

// concerns says whether a rule may decide about the run. A task run in a flow run takes that one's ruling over, so only
// rules that look at the task itself count. No rule about tasks is about a flow run.
func (m matter) concerns(r rule, takesOver bool) bool {
	if !m.isTask {
		return r.task == nil
	}
	return !takesOver || r.task != nil || r.tag != nil
}

func plainText(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
