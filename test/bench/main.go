package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/prefect-openlineage/listener/test/rig"
)

func main() {
	if len(os.Args) > 1 {
		if client := clients()[os.Args[1]]; client != nil {
			if err := client(context.Background(), os.Stdout, os.Args[2:]); err != nil {
				fmt.Fprintln(os.Stderr, "bench:", err)
				os.Exit(1)
			}
			return
		}
	}
	o, err := parse(os.Args[1:])
	switch {
	case errors.Is(err, flag.ErrHelp):
		return
	case err != nil:
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	}
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// clients are what this program is instead of the bench when a measurement starts it as a client, by its first argument.
func clients() map[string]func(context.Context, io.Writer, []string) error {
	return map[string]func(context.Context, io.Writer, []string) error{
		emitCommand: emitDataHub, emitKafkaCommand: emitDataHubKafka,
	}
}

// options are the flags.
type options struct {
	only     []string
	quick    bool
	json     bool
	pairs    int
	idle     time.Duration
	sizes    []int // flow runs of the catch-ups
	listener string
	env      []string // further settings of the listener
}

func parse(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	output := flags.String("o", "text", "text or json")
	flags.BoolVar(&o.quick, "quick", false, "less of everything")
	flags.IntVar(&o.pairs, "pairs", 0, "pairs of loads with and without the listener (default 10, quick 1), and rounds of datahub-rest and datahub-kafka, at most 3")
	flags.DurationVar(&o.idle, "idle", 0, "how long to watch the idle listener (default 1m, quick 20s)")
	flags.StringVar(&o.listener, "listener", "", "the binary to measure (default bin/listener)")
	flags.Func("only", "one measurement alone: "+strings.Join(names(), ", ")+"; may be given again", func(name string) error {
		if !slices.Contains(names(), name) {
			return fmt.Errorf("takes %s", strings.Join(names(), ", "))
		}
		o.only = append(o.only, name)
		return nil
	})
	flags.Func("size", "flow runs of a catch-up, ten task runs each (default 2000 and 8000, quick 300); may be given again", func(text string) error {
		var n int
		if _, err := fmt.Sscan(text, &n); err != nil || n < 20 {
			return errors.New("takes a number from 20")
		}
		o.sizes = append(o.sizes, n)
		return nil
	})
	flags.Func("env", "a setting of the listener, NAME=VALUE, to see what it changes; may be given again", func(setting string) error {
		o.env = append(o.env, setting)
		return nil
	})
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("%q is no flag", flags.Arg(0))
	}
	switch *output {
	case "text", "json":
		o.json = *output == "json"
	default:
		return o, fmt.Errorf("-o %q: takes text or json", *output)
	}
	o.setDefaults()
	return o, nil
}

func (o *options) setDefaults() {
	pairs, idle, sizes := 10, time.Minute, []int{2000, 8000}
	if o.quick {
		pairs, idle, sizes = 1, 20*time.Second, []int{300}
	}
	if o.pairs <= 0 {
		o.pairs = pairs
	}
	if o.idle <= 0 {
		o.idle = idle
	}
	if len(o.sizes) == 0 {
		o.sizes = sizes
	}
	if o.listener == "" {
		o.listener = filepath.Join(rig.Root(), "bin", "listener")
	}
}

// measurement is one of the things that can be measured.
type measurement struct {
	name string
	run  func(b *bench)
}

func measurements() []measurement {
	return []measurement{
		{"live", (*bench).live},
		{"catchup", (*bench).catchUp},
		{"idle", (*bench).idle},
		{"delivery", (*bench).delivery},
		{"memory", (*bench).catchUpInMemory},
		{"server", (*bench).server},
		{"datahub-rest", (*bench).datahubREST},
		{"datahub-kafka", (*bench).datahubKafka},
	}
}

func names() []string {
	var all []string
	for _, m := range measurements() {
		all = append(all, m.name)
	}
	return all
}

// run measures and prints. What could not be measured is in the error; the rest is printed all the same.
func run(o options) error {
	if _, err := os.Stat(o.listener); err != nil {
		return fmt.Errorf("there is no listener to measure (make build makes it): %w", err)
	}
	report := newReport(o.listener)
	var problems []error
	for _, m := range measurements() {
		if len(o.only) > 0 && !slices.Contains(o.only, m.name) {
			continue
		}
		fmt.Fprintf(os.Stderr, "%s ...\n", m.name)
		began := time.Now()
		b := &bench{stage: newStage(m.name), options: o, report: report}
		if err := b.play(func() { m.run(b) }); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", m.name, err))
		}
		fmt.Fprintf(os.Stderr, "%s took %s\n", m.name, time.Since(began).Round(time.Second))
	}
	report.end()
	print := report.text
	if o.json {
		print = report.json
	}
	return errors.Join(append(problems, print(os.Stdout))...)
}

// bench is one measurement under way.
type bench struct {
	*stage
	options options
	report  *report
}

// interrupted returns a channel that hears of the first SIGINT or SIGTERM.
func interrupted() (heard <-chan os.Signal, stop func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	return signals, func() { signal.Stop(signals) }
}
