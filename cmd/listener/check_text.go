package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/prefect-openlineage/listener/cmd/listener/internal/config"
)

// write tells the report in plain words.
func (r checkReport) write(w io.Writer) error {
	out := &printer{to: w}
	out.printf("Settings\n")
	out.settings("  ", r.Settings)
	out.section("Warnings", r.Warnings)
	out.section("Problems", r.Problems)
	if len(r.Problems) > 0 {
		out.printf("\nNothing was tried: the settings have to be right first.\n")
		return out.done()
	}
	r.Prefect.tell(out, "Prefect", "PROBLEM")
	if r.Hints != nil {
		r.Hints.tell(out, "Prefect's events", "without")
	}
	r.Store.tell(out, "Store", "PROBLEM")
	for _, d := range r.Destinations {
		d.tell(out, fmt.Sprintf("Destination %s (%s)", d.Name, d.Kind), "PROBLEM")
		out.settings("    ", d.rows)
	}
	noted := slices.ContainsFunc(r.Destinations, func(d destinationCheck) bool { return d.Note != "" })
	switch {
	case r.OK && noted:
		out.printf("\nAll answers, and the notes say what is not well.\n")
	case r.OK:
		out.printf("\nAll is well.\n")
	default:
		out.printf("\nNot all is well.\n")
	}
	return out.done()
}

func (p *printer) section(title string, lines []string) {
	if len(lines) > 0 {
		p.printf("\n%s\n  %s\n", title, strings.Join(lines, "\n  "))
	}
}

// settings tells of each setting its value and where it is from.
func (p *printer) settings(indent string, settings []config.Setting) {
	rows := make([][]string, len(settings))
	for i, s := range settings {
		value := s.Value
		if value == "" {
			value = "-"
		}
		rows[i] = []string{s.Name, value, s.Origin}
	}
	p.columns(indent, rows)
}

// tell tells what was found. Bad is the word for what is not well.
func (f finding) tell(out *printer, title, bad string) {
	verdict := "ok"
	if !f.OK {
		verdict = bad
	}
	out.printf("\n%s\n  at %s\n  %s: %s\n", title, f.Target, verdict, strings.ReplaceAll(printable(f.Says), "\n", "\n  "))
	if f.ToDo != "" {
		out.printf("  to do: %s\n", f.ToDo)
	}
	if f.Note != "" {
		out.printf("  note: %s\n", printable(f.Note))
	}
}
