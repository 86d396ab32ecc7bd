package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/prefect-openlineage/listener/cmd/listener/internal/config"
)

// output is the flag of commands that scripts read.
type output struct {
	Output string `short:"o" enum:"text,json" default:"text" placeholder:"FORMAT" help:"text for people, json for scripts."`
}

func (o output) json() bool { return o.Output == "json" }

func printJSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return fmt.Errorf("writing the answer: %w", err)
	}
	return nil
}

// table writes rows under a head in columns.
func table(w io.Writer, head []string, rows [][]string) error {
	tabs := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range append([][]string{head}, rows...) {
		fmt.Fprintln(tabs, strings.Join(row, "\t"))
	}
	if err := tabs.Flush(); err != nil {
		return fmt.Errorf("writing the answer: %w", err)
	}
	return nil
}

// moment is a time for people; never stands for the zero time.
func moment(t time.Time, never string) string {
	if t.IsZero() {
		return never
	}
	return t.UTC().Format(time.RFC3339)
}

// age is how long ago something was, to the second.
func age(t, now time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return config.Brief(max(0, now.Sub(t)).Truncate(time.Second))
}

// optional is a time in JSON, null where it is zero.
func optional(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// count names a number of things.
func count(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
