package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

// write tells the report in plain words.
func (r checkReport) write(w io.Writer) error {
	fmt.Fprintln(w, "Settings")
	tabs := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, s := range r.Settings {
		value := s.Value
		if value == "" {
			value = "-"
		}
		fmt.Fprintf(tabs, "  %s\t%s\t%s\n", s.Name, value, s.Origin)
	}
	if err := tabs.Flush(); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	section(w, "Warnings", r.Warnings)
	section(w, "Problems", r.Problems)
	if len(r.Problems) > 0 {
		_, err := fmt.Fprintln(w, "\nNothing was tried: the settings have to be right first.")
		return err
	}
	r.Prefect.write(w, "Prefect", nil)
	r.Store.write(w, "Store", nil)
	for _, d := range r.Destinations {
		d.write(w, fmt.Sprintf("Destination %s (%s)", d.Name, d.Kind), d.Settings)
	}
	verdict := "All is well."
	if !r.OK {
		verdict = "Not all is well."
	}
	_, err := fmt.Fprintln(w, "\n"+verdict)
	return err
}

func section(w io.Writer, title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s\n", title)
	for _, line := range lines {
		fmt.Fprintln(w, "  "+line)
	}
}

// write tells one finding, below it the settings in effect.
func (f finding) write(w io.Writer, title string, settings map[string]any) {
	verdict := "ok"
	if !f.OK {
		verdict = "PROBLEM"
	}
	fmt.Fprintf(w, "\n%s\n  at %s\n  %s: %s\n", title, f.Target, verdict, strings.ReplaceAll(printable(f.Says), "\n", "\n  "))
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		text, err := json.Marshal(settings[key])
		if err != nil { // settings are plain values
			continue
		}
		fmt.Fprintf(w, "    %s: %s\n", key, text)
	}
}
