package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/prefect-openlineage/listener/test/rig"
	"github.com/prefect-openlineage/listener/transport/datahub/rest"
)

// emitCommand is the first argument with which this program is DataHub's client of the measurement instead: a process of
// its own, as Python's is, so that neither shares its processor time with the server.
const emitCommand = "datahub-rest-emit"

// The ways in which proposals are sent.
const (
	single  = "single"   // one after the other, each by itself
	batch   = "batch"    // all in one call, one chunk after the other
	several = "parallel" // all in one call, several chunks at once
)

// sendingRounds is how often each way is measured at most, in turns, so that what else the machine does meets all of them.
const sendingRounds = 3

// datahubREST measures how fast proposals reach DataHub's metadata service over REST in ASYNC mode, beside DataHub's own
// Python emitter with the same proposals and the same server.
func (b *bench) datahubREST() {
	n := 20_000
	if b.options.quick {
		n = 2000
	}
	python := b.datahubPython()
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	script := filepath.Join(rig.Root(), "test", "bench", "datahub_emit.py")
	server := b.newGMS()
	file := b.writeProposals(n)
	ours, theirs := map[string][]spent{}, map[string][]spent{}
	send := func(to map[string][]spent, way string, name string, args ...string) {
		cmd := exec.CommandContext(b.Context(), name, append(args, way, server.url, file)...) //nolint:gosec // the programs to be measured
		s := b.spend(cmd)
		if got := server.taken(); got != n {
			b.Fatalf("%s, %s: the server has %d proposals, not %d", filepath.Base(name), way, got, n)
		}
		to[way] = append(to[way], s)
	}
	for range min(b.options.pairs, sendingRounds) {
		for _, way := range []string{single, batch} {
			send(theirs, way, python, script)
			send(ours, way, self, emitCommand)
		}
		send(ours, several, self, emitCommand)
	}
	rate := func(all []spent) float64 { return float64(n) / middle(all, func(s spent) float64 { return s.Seconds }) }
	cpu := func(all []spent) float64 {
		return middle(all, func(s spent) float64 { return s.CPU }) * 1000 / float64(n)
	}
	const best = "Python's emit_mcps"
	b.compareRates("EmitAll, 8 chunks at once", rate(ours[several]), "/s", best, rate(theirs[batch]), timesBare(0.1))
	b.compareRates("EmitAll, one chunk after the other", rate(ours[batch]), "/s", best, rate(theirs[batch]), timesBare(0.1))
	b.compareRates("Emit, one after the other", rate(ours[single]), "/s", "Python's emit", rate(theirs[single]), timesBare(0.1))
	b.compare("CPU time per 1000 proposals, EmitAll", cpu(ours[batch]), "s", best, cpu(theirs[batch]), none)
	b.compare("CPU time per 1000 proposals, Emit", cpu(ours[single]), "s", "Python's emit", cpu(theirs[single]), none)
}

// middle returns the median of a figure.
func middle(all []spent, of func(spent) float64) float64 {
	var values []float64
	for _, s := range all {
		values = append(values, of(s))
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// emitDataHub is the client: it reads all proposals, sends them, and says how long the sending took.
func emitDataHub(ctx context.Context, out io.Writer, args []string) error {
	if len(args) != 3 {
		return errors.New("takes a way, a server and a file")
	}
	proposals, err := readProposals(args[2])
	if err != nil {
		return err
	}
	config := rest.Config{Server: args[1], API: rest.APIRestli, Mode: rest.Async}
	if args[0] == several {
		config.Parallel = 8
	}
	emitter, err := rest.New(config)
	if err != nil {
		return err
	}
	defer emitter.Close()
	began, worked := time.Now(), processorTime()
	if args[0] == single {
		for _, p := range proposals {
			if _, err := emitter.Emit(ctx, p); err != nil {
				return err
			}
		}
	} else if _, err := emitter.EmitAll(ctx, proposals); err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(spent{Seconds: time.Since(began).Seconds(), CPU: (processorTime() - worked).Seconds()})
}
