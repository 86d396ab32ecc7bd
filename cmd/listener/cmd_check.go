package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/prefect-openlineage/listener/cmd/listener/internal/config"
	"github.com/prefect-openlineage/listener/state"
	"github.com/prefect-openlineage/listener/transport"
)

// checkCmd shows the settings and tries what they name.
type checkCmd struct {
	Variables bool `help:"List all variables and what they take, and try nothing."`
	output
}

// checkTimeout bounds each single try, so that check ends where a consumer does not answer.
const checkTimeout = 15 * time.Second

// checkReport is the answer in JSON. Keys may be added.
type checkReport struct {
	OK       bool             `json:"ok"`
	Settings []config.Setting `json:"settings"`
	Warnings []string         `json:"warnings"`
	// Problems are what is wrong with the settings. With any, nothing is tried.
	Problems []string `json:"problems"`
	Prefect  *finding `json:"prefect"`
	// Hints are Prefect's events. That they can't be heard is no fault: polls find all that they tell of.
	Hints        *finding           `json:"hints,omitempty"`
	Store        *finding           `json:"store"`
	Destinations []destinationCheck `json:"destinations"`
}

// finding is what came of one try.
type finding struct {
	Target string `json:"target"`
	OK     bool   `json:"ok"`
	// Says is what was found, in plain words.
	Says string `json:"says"`
	// ToDo is what to do about it, where that is known.
	ToDo string `json:"to_do,omitempty"`
	// Note is what is known besides, and what the try can't show.
	Note string `json:"note,omitempty"`
}

// failed notes what went wrong, and what to do about it.
func (f *finding) failed(err error) { f.OK, f.Says, f.ToDo = false, err.Error(), advice(f.Target, err) }

type destinationCheck struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
	finding
	// Settings are those in effect, the defaults included and secrets masked.
	Settings map[string]any `json:"settings"`
	// Origins say where each is from, by its path in Settings, such as retry.status_forcelist.
	Origins map[string]string `json:"origins"`
	rows    []config.Setting
}

// Run checks. The exit code is 2 for wrong settings and 1 where something they name does not answer as it should.
func (c *checkCmd) Run(ctx context.Context, p *process) error {
	if c.Variables {
		return config.Usage(p.stdout)
	}
	s, err := p.load()
	defer s.close(ctx)
	var problems config.Problems
	if err != nil && !errors.As(err, &problems) {
		return err
	}
	report := checkReport{Settings: s.config.Settings, Warnings: []string{}, Problems: []string{}, Destinations: []destinationCheck{}}
	for _, w := range s.warnings {
		report.Warnings = append(report.Warnings, w.String())
	}
	for _, problem := range problems {
		report.Problems = append(report.Problems, problem.String())
	}
	if len(problems) == 0 {
		p.try(ctx, s, &report)
	}
	if c.json() {
		err = printJSON(p.stdout, report)
	} else {
		err = report.write(p.stdout)
	}
	switch {
	case err != nil:
		return err
	case len(problems) > 0:
		return reported(exitUsage)
	case !report.OK:
		return reported(exitError)
	default:
		return nil
	}
}

// try fills in what came of each try.
func (p *process) try(ctx context.Context, s settings, report *checkReport) {
	report.Prefect = p.tryPrefect(ctx, s.config)
	if s.config.Hints && report.Prefect.OK {
		report.Hints = p.tryHints(ctx, s.config)
	}
	var standings []state.DestinationStatus
	report.Store, standings = p.tryStore(ctx, s.config)
	report.OK = report.Prefect.OK && report.Store.OK
	for _, d := range s.destinations {
		check := destinationCheck{Name: d.Name, Kind: d.Kind, finding: probe(ctx, d), Settings: d.Settings, Origins: map[string]string{}}
		for _, setting := range settingsInEffect(d, s.config.OpenLineage, p.getenv) {
			check.Origins[setting.Name] = setting.Origin
			check.rows = append(check.rows, setting)
		}
		check.Note = p.trouble(standings, d.Name)
		report.OK = report.OK && check.OK
		report.Destinations = append(report.Destinations, check)
	}
}

// tryPrefect asks for the version, which needs no credentials on some servers, and for runs, which does.
func (p *process) tryPrefect(ctx context.Context, c config.Config) *finding {
	found := finding{Target: c.Prefect.URL}
	client, err := p.do.prefect(c.Prefect, p.built, zap.NewNop())
	if err != nil {
		found.Says = err.Error()
		return &found
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	version, err := client.Version(ctx)
	if err == nil {
		found.Says, err = countRuns(ctx, client, c.Lookback)
	}
	if err != nil {
		found.failed(err)
		return &found
	}
	name := "Prefect " + version
	if version == "" {
		name = "Prefect Cloud"
	}
	found.OK, found.Says = true, name+" answers; "+found.Says
	return &found
}

// tryHints listens to Prefect's events for a moment.
func (p *process) tryHints(ctx context.Context, c config.Config) *finding {
	found := finding{Target: strings.Replace(c.Prefect.URL, "http", "ws", 1) + "/events/out"}
	client, err := p.do.prefect(c.Prefect, p.built, zap.NewNop())
	if err != nil {
		found.Says = err.Error()
		return &found
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	if err := client.TryHints(ctx); err != nil {
		found.Says = fmt.Sprintf("not heard, so a change is seen within %s: %v", config.Brief(c.PollInterval), err)
		return &found
	}
	found.OK, found.Says = true, "heard, so a change is seen within a second"
	return &found
}

// probe tries a destination without sending an event, where its kind can be tried so.
func probe(ctx context.Context, d transport.Destination) finding {
	found := finding{Target: d.Target, OK: true, Says: "can't be tried without sending an event"}
	prober, ok := d.Transport.(transport.Prober)
	if !ok {
		return found
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	says, err := prober.Probe(ctx)
	if err != nil {
		found.failed(err)
		return found
	}
	found.Says = says
	return found
}
