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

// printer writes an answer of several parts and keeps the first error, which done returns.
type printer struct {
	to  io.Writer
	err error
}

func (p *printer) Write(text []byte) (int, error) {
	if p.err != nil {
		return 0, p.err
	}
	n, err := p.to.Write(text)
	p.err = err
	return n, err
}

func (p *printer) printf(format string, args ...any) {
	_, _ = fmt.Fprintf(p, format, args...) // kept by Write
}

// columns writes rows in columns, each line behind a margin.
func (p *printer) columns(margin string, rows [][]string) {
	tabs := tabwriter.NewWriter(p, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		_, _ = io.WriteString(tabs, margin+strings.Join(row, "\t")+"\n") // kept by Write, as is what Flush meets
	}
	_ = tabs.Flush()
}

func (p *printer) done() error {
	if p.err != nil {
		return fmt.Errorf("writing the answer: %w", p.err)
	}
	return nil
}

// table writes rows under a head in columns.
func table(w io.Writer, head []string, rows [][]string) error {
	out := &printer{to: w}
	out.columns("", append([][]string{head}, rows...))
	return out.done()
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
