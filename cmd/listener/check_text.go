package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// write tells the report in plain words.
func (r checkReport) write(w io.Writer) error {
	out := &printer{to: w}
	out.printf("Settings\n")
	rows := make([][]string, len(r.Settings))
	for i, s := range r.Settings {
		value := s.Value
		if value == "" {
			value = "-"
		}
		rows[i] = []string{s.Name, value, s.Origin}
	}
	out.columns("  ", rows)
	out.section("Warnings", r.Warnings)
	out.section("Problems", r.Problems)
	if len(r.Problems) > 0 {
		out.printf("\nNothing was tried: the settings have to be right first.\n")
		return out.done()
	}
	r.Prefect.write(out, "Prefect", nil)
	if r.Hints != nil {
		r.Hints.tell(out, "Prefect's events", "without")
	}
	r.Store.write(out, "Store", nil)
	for _, d := range r.Destinations {
		d.write(out, fmt.Sprintf("Destination %s (%s)", d.Name, d.Kind), d.Settings)
	}
	if r.OK {
		out.printf("\nAll is well.\n")
	} else {
		out.printf("\nNot all is well.\n")
	}
	return out.done()
}

func (p *printer) section(title string, lines []string) {
	if len(lines) > 0 {
		p.printf("\n%s\n  %s\n", title, strings.Join(lines, "\n  "))
	}
}

// write tells one finding, below it the settings in effect.
func (f finding) write(out *printer, title string, settings map[string]any) {
	f.tell(out, title, "PROBLEM")
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		text, err := json.Marshal(settings[key])
		if err != nil { // settings are plain values
			continue
		}
		out.printf("    %s: %s\n", key, text)
	}
}

// tell tells what was found. Bad is the word for what is not well.
func (f finding) tell(out *printer, title, bad string) {
	verdict := "ok"
	if !f.OK {
		verdict = bad
	}
	out.printf("\n%s\n  at %s\n  %s: %s\n", title, f.Target, verdict, strings.ReplaceAll(printable(f.Says), "\n", "\n  "))
}
