package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/prefect-openlineage/listener/prefect/prefecttest"
)

func TestQuantile(t *testing.T) {
	t.Parallel()
	var many []time.Duration
	for i := range 101 {
		many = append(many, time.Duration(100-i)*time.Second)
	}
	for _, test := range []struct {
		name string
		of   []time.Duration
		part float64
		want float64
	}{
		{"none", nil, 0.5, 0},
		{"one", []time.Duration{time.Second}, 0.99, 1},
		{"middle", many, 0.5, 50},
		{"nearly all", many, 0.99, 99},
		{"least", many, 0, 0},
		{"most", many, 1, 100},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := quantile(test.of, test.part); got != test.want {
				t.Errorf("quantile(%v) = %v, want %v", test.part, got, test.want)
			}
		})
	}
	if got := median([]time.Duration{4 * time.Second, time.Second, 2 * time.Second, time.Hour}); got != 3 {
		t.Errorf("the median of four is %v, want the mean of the middle two, 3", got)
	}
}

func TestParseStat(t *testing.T) {
	t.Parallel()
	const line = "4242 (a (b) c) S 1 4200 4200 0 -1 4194560 100 0 0 0 150 25 10 15 20 0 9 0 12345 1000000 500 18446744073709551615"
	got, err := parseStat(line)
	if want := (stat{group: 4200, cpu: 2 * time.Second}); err != nil || got != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	if _, err := parseStat("1 (short) S 1 1"); err == nil {
		t.Error("a line that is too short was taken")
	}
}

func TestOwnCPU(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("CPU time is only measured on Linux")
	}
	before, err := processCPU(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	work(t.Context(), 100*time.Millisecond)
	after, err := processCPU(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if used := after - before; used < 80*time.Millisecond {
		t.Errorf("100 ms of work show as %s", used)
	}
	now, most, err := residentMemory(os.Getpid())
	if err != nil || now <= 1 || most < now {
		t.Errorf("memory is %v MiB now, %v at most, %v", now, most, err)
	}
}

// The yardstick must read every row, else it is none.
func TestBareReadsAll(t *testing.T) {
	t.Parallel()
	for _, flowRuns := range []int{1, 19, 20, 21, 200, 213} {
		t.Run(fmt.Sprint(flowRuns), func(t *testing.T) {
			t.Parallel()
			server := prefecttest.NewTCP(t)
			from := time.Now().Add(-3 * time.Hour)
			historyOf(server, flowRuns, from, from.Add(time.Hour))
			reader := newBare(server.URL)
			defer reader.close()
			got, err := reader.history(t.Context(), from)
			if err != nil {
				t.Fatal(err)
			}
			got.requests = 0
			if want := (bareRead{flowRuns: flowRuns, taskRuns: 10 * flowRuns, artifacts: 10 * flowRuns}); got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}

// A paced server works for the rows that it gives.
func TestPaced(t *testing.T) {
	t.Parallel()
	server := prefecttest.NewServer()
	from := time.Now().Add(-time.Hour)
	historyOf(server, 20, from, from.Add(time.Minute))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	b := &bench{stage: newStage("test")}
	err := b.play(func() {
		api := b.servePaced(server)
		reader := newBare(api.url)
		defer reader.close()
		began := time.Now()
		var rows []bareRow
		if err := reader.list(ctx, "task_runs", filter{"limit": 200}, &rows); err != nil {
			b.Fatal(err)
		}
		if took := time.Since(began); took < 100*time.Millisecond || len(rows) != 200 {
			b.Fatalf("%d rows took %s", len(rows), took)
		}
		if worked := api.worked(); worked != 108*time.Millisecond {
			b.Fatalf("the server says that it worked for %s", worked)
		}
	})
	if err != nil {
		t.Error(err)
	}
}

func TestProxyCounts(t *testing.T) {
	t.Parallel()
	server := prefecttest.NewTCP(t)
	server.AddFlow("Orders")
	b := &bench{stage: newStage("test")}
	err := b.play(func() {
		through := b.newProxy(server.URL)
		reader := newBare(through.url)
		defer reader.close()
		var rows []bareRow
		for range 3 {
			if err := reader.list(b.Context(), "flows", filter{}, &rows); err != nil || len(rows) != 1 {
				b.Fatalf("%d rows, %v", len(rows), err)
			}
		}
		if err := reader.list(b.Context(), "deployments", filter{}, &rows); err != nil {
			b.Fatal(err)
		}
		if got := through.String(); through.count() != 4 || got != "3 flows/filter, 1 deployments/filter" {
			b.Fatalf("%d requests were counted: %s", through.count(), got)
		}
	})
	if err != nil {
		t.Error(err)
	}
}

func TestPostAndRate(t *testing.T) {
	t.Parallel()
	b := &bench{stage: newStage("test")}
	err := b.play(func() {
		sink := b.newSink(true)
		bodies := make([]arrival, 500)
		for i := range bodies {
			bodies[i].body = []byte(`{"eventType":"START","run":{"runId":"` + fmt.Sprint(i) + `"}}`)
		}
		if rate := b.post(sink, sink.url, bodies); rate <= 0 || sink.got() != len(bodies) {
			b.Fatalf("%d came, at %v a second", sink.got(), rate)
		}
		if got := b.byRun(sink.arrivals(), nil); len(got) != len(bodies) {
			b.Fatalf("%d starts came, not %d", len(got), len(bodies))
		}
	})
	if err != nil {
		t.Error(err)
	}
}

// A measurement that fails ends, and all that it began is undone, the last first.
func TestStage(t *testing.T) {
	t.Parallel()
	s := newStage("test")
	var undone []string
	var dir string
	err := s.play(func() {
		dir = s.TempDir()
		s.Cleanup(func() { undone = append(undone, "outer") })
		s.within(func() {
			s.Cleanup(func() { undone = append(undone, "inner") })
			s.Cleanup(func() { undone = append(undone, "innermost") })
		})
		undone = append(undone, "within is over")
		s.within(func() {
			s.Cleanup(func() { undone = append(undone, "failed") })
			s.Fatalf("no %s", "more")
		})
		undone = append(undone, "never")
	})
	if err == nil || err.Error() != "no more" {
		t.Errorf("the failure is %v", err)
	}
	want := []string{"innermost", "inner", "within is over", "failed", "outer"}
	if diff := cmp.Diff(want, undone); diff != "" {
		t.Error(diff)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the folder is still there: %v", err)
	}
}

func TestReport(t *testing.T) {
	t.Parallel()
	r := &report{Listener: "listener 1.2.3", Date: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC), System: "linux/amd64", Cores: 2, Load: [2]float64{5, 6}}
	b := &bench{stage: newStage("catchup"), report: r}
	b.compare("backfill", 12, "s", "bare reading", 10, timesBare(1.15))
	b.compareRates("events", 5000, "/s", "bare posts", 10000, none)
	b.say("memory", 33.333, "MiB", atMost(35))
	b.beside("delay", 0.25, "s", "lag", 0.1, none)
	var out bytes.Buffer
	if err := r.text(&out); err != nil {
		t.Fatal(err)
	}
	want := `listener 1.2.3
2026-11-30T12:00:00Z, linux/amd64, 2 cores, load 5.0 before and 6.0 after (other work was going on: believe the ratios alone)

MEASUREMENT  WHAT      FIGURE    YARDSTICK             RATIO  TARGET       HELD
catchup      backfill  12.0 s    10.0 s, bare reading  1.20   <= 1.15 x    no
catchup      events    5000 /s   10000 /s, bare posts  2.00                
catchup      memory    33.3 MiB                               <= 35.0 MiB  yes
catchup      delay     0.250 s   0.100 s, lag                              
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
	out.Reset()
	if err := r.json(&out); err != nil {
		t.Fatal(err)
	}
	var back report
	if err := json.Unmarshal(out.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r, &back, cmp.AllowUnexported(figure{}, yardstick{})); diff != "" {
		t.Error(diff)
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	o, err := parse(nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{2000, 8000}, o.sizes); diff != "" || o.pairs != 10 || o.idle != time.Minute || filepath.Base(o.listener) != "listener" {
		t.Errorf("the defaults are %+v", o)
	}
	o, err = parse([]string{"-quick", "-only", "idle", "-only", "live", "-o", "json", "-idle", "5s", "-size", "60", "-env", "A=b"})
	if err != nil {
		t.Fatal(err)
	}
	if !o.quick || !o.json || o.idle != 5*time.Second || o.pairs != 1 || strings.Join(o.only, " ") != "idle live" || o.sizes[0] != 60 || o.env[0] != "A=b" {
		t.Errorf("got %+v", o)
	}
	for _, args := range [][]string{{"-only", "nothing"}, {"-o", "xml"}, {"-size", "few"}, {"extra"}, {"-nope"}} {
		if _, err := parse(args); err == nil {
			t.Errorf("%q was taken", args)
		}
	}
}

// A sink counts what it takes and when.
func TestSinkTimes(t *testing.T) {
	t.Parallel()
	b := &bench{stage: newStage("test")}
	err := b.play(func() {
		sink := b.newSink(false)
		for range 2 {
			if err := postOne(http.DefaultClient, sink.url, []byte("{}")); err != nil {
				b.Fatal(err)
			}
			pause(b.Context(), 20*time.Millisecond)
		}
		if first, last := sink.times(); sink.got() != 2 || last.Sub(first) < 20*time.Millisecond {
			b.Fatalf("%d came from %s to %s", sink.got(), first, last)
		}
	})
	if err != nil {
		t.Error(err)
	}
}

// TestEmitDataHubKafka has the Kafka client of the measurement send, and the topic's end found.
func TestEmitDataHubKafka(t *testing.T) {
	t.Parallel()
	b := &bench{stage: newStage("datahub-kafka")}
	t.Cleanup(b.end)
	const n = 300
	file := b.writeProposals(n)
	broker, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "measured"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(broker.Close)
	registry := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"id": 1}`) }))
	t.Cleanup(registry.Close)
	address := broker.ListenAddrs()[0]
	var out bytes.Buffer
	if err := emitDataHubKafka(t.Context(), &out, []string{address, registry.URL, "measured", file}); err != nil {
		t.Fatal(err)
	}
	var s spent
	if err := json.Unmarshal(out.Bytes(), &s); err != nil || s.Seconds <= 0 || s.First <= 0 {
		t.Errorf("said %q, %v", out.String(), err)
	}
	if got := b.endOf(address, "measured"); got != n+1 {
		t.Errorf("the topic has %d proposals, want %d", got, n+1)
	}
	if err := emitDataHubKafka(t.Context(), &out, nil); err == nil {
		t.Error("no arguments are taken")
	}
}

// TestEmitDataHub has the client of the measurement send each way.
func TestEmitDataHub(t *testing.T) {
	t.Parallel()
	b := &bench{stage: newStage("datahub-rest")}
	t.Cleanup(b.end)
	const n = 450
	file := b.writeProposals(n)
	for _, way := range []string{single, batch, several} {
		server := b.newGMS()
		var out bytes.Buffer
		if err := emitDataHub(t.Context(), &out, []string{way, server.url, file}); err != nil {
			t.Fatalf("%s: %v", way, err)
		}
		var s spent
		if err := json.Unmarshal(out.Bytes(), &s); err != nil || s.Seconds <= 0 {
			t.Errorf("%s: said %q, %v", way, out.String(), err)
		}
		if got := server.taken(); got != n {
			t.Errorf("%s: the server has %d proposals, want %d", way, got, n)
		}
	}
	for _, args := range [][]string{nil, {single, "http://127.0.0.1:1", "nowhere"}} {
		if err := emitDataHub(t.Context(), &bytes.Buffer{}, args); err == nil {
			t.Errorf("%v was taken", args)
		}
	}
}
