package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os/exec"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"
)

// quantity is a measured value.
type quantity struct {
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
}

func (q quantity) String() string {
	if q.Unit == "" {
		return digits(q.Value)
	}
	return digits(q.Value) + " " + q.Unit
}

// digits writes a value with three digits that count, or all of those before the point.
func digits(v float64) string {
	size := math.Abs(v)
	switch {
	case size >= 100 || size == 0:
		return fmt.Sprintf("%.0f", v)
	case size >= 10:
		return fmt.Sprintf("%.1f", v)
	case size >= 1:
		return fmt.Sprintf("%.2f", v)
	default:
		return fmt.Sprintf("%.3f", v)
	}
}

// yardstick is what a figure is to be seen beside.
type yardstick struct {
	What string `json:"what"`
	quantity
}

// figure is one line of the report.
type figure struct {
	Measurement string `json:"measurement"`
	What        string `json:"what"`
	quantity
	Yardstick *yardstick `json:"yardstick,omitempty"`
	// Ratio is figure through yardstick; for a rate the other way round, so that above 1 is always worse.
	Ratio  float64 `json:"ratio,omitempty"`
	Target *target `json:"target,omitempty"`
	Held   *bool   `json:"held,omitempty"` // whether the target was
}

// report gathers the figures and what is needed to judge them.
type report struct {
	Date     time.Time  `json:"date"`
	Listener string     `json:"listener"`
	System   string     `json:"system"`
	Cores    int        `json:"cores"`
	Load     [2]float64 `json:"load"` // runnable processes, averaged over a minute, before and after
	Figures  []figure   `json:"figures"`
}

func newReport(listener string) *report {
	version, err := exec.Command(listener, "version").Output() //nolint:gosec,noctx // the binary that is to be measured; it only prints
	if err != nil {
		version = []byte("unknown")
	}
	return &report{
		Date: time.Now().UTC().Truncate(time.Second), Listener: strings.TrimSpace(string(version)),
		System: runtime.GOOS + "/" + runtime.GOARCH, Cores: runtime.NumCPU(), Load: [2]float64{loadAverage()},
	}
}

func (r *report) end() { r.Load[1] = loadAverage() }

// say adds a figure that stands alone.
func (b *bench) say(what string, value float64, unit string, want *target) {
	b.add(figure{What: what, quantity: quantity{value, unit}, Target: want})
}

// compare adds a figure that should be as small as the yardstick, or not much bigger.
func (b *bench) compare(what string, value float64, unit, against string, by float64, want *target) {
	b.add(figure{
		What: what, quantity: quantity{value, unit}, Yardstick: &yardstick{against, quantity{by, unit}},
		Ratio: value / by, Target: want,
	})
}

// compareRates adds a figure that should be as big as the yardstick.
func (b *bench) compareRates(what string, value float64, unit, against string, by float64, want *target) {
	b.add(figure{
		What: what, quantity: quantity{value, unit}, Yardstick: &yardstick{against, quantity{by, unit}},
		Ratio: by / value, Target: want,
	})
}

// beside adds a figure next to one that it has no ratio to.
func (b *bench) beside(what string, value float64, unit, against string, by float64, want *target) {
	b.add(figure{What: what, quantity: quantity{value, unit}, Yardstick: &yardstick{against, quantity{by, unit}}, Target: want})
}

func (b *bench) add(f figure) {
	f.Measurement = b.name
	if f.Target != nil {
		held := f.Target.held(f)
		f.Held = &held
	}
	b.report.Figures = append(b.report.Figures, f)
}

func (r *report) json(w io.Writer) error {
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	return out.Encode(r)
}

func (r *report) text(w io.Writer) error {
	fmt.Fprintf(w, "%s\n%s, %s, %d cores, load %.1f before and %.1f after", r.Listener, r.Date.Format(time.RFC3339), r.System, r.Cores, r.Load[0], r.Load[1])
	if r.Load[0] > float64(r.Cores)/2 {
		fmt.Fprint(w, " (other work was going on: believe the ratios alone)")
	}
	fmt.Fprint(w, "\n\n")
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "MEASUREMENT\tWHAT\tFIGURE\tYARDSTICK\tRATIO\tTARGET\tHELD")
	for _, f := range r.Figures {
		var by, ratio, want, held string
		if f.Yardstick != nil {
			by = f.Yardstick.String() + ", " + f.Yardstick.What
		}
		if f.Ratio != 0 {
			ratio = fmt.Sprintf("%.2f", f.Ratio)
		}
		if f.Target != nil {
			want, held = f.Target.text(f.Unit), "no"
			if *f.Held {
				held = "yes"
			}
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", f.Measurement, f.What, f.quantity, by, ratio, want, held)
	}
	return table.Flush()
}
