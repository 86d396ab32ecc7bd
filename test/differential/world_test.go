package differential_test

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"testing"
	"time"

	"github.com/prefect-openlineage/listener/prefect"
	"github.com/prefect-openlineage/listener/prefect/prefecttest"
	"github.com/prefect-openlineage/listener/test/rig"
)

// world is what all configurations share: one flow run that a parent outside of Prefect started, and its events.
type world struct {
	prefect string
	events  []json.RawMessage
	python  *python
}

func newWorld(t *testing.T) *world {
	t.Helper()
	server := prefecttest.NewTCP(t)
	flow := server.AddFlow("Füße & <Zählen>/1")
	end := time.Now().Add(-time.Minute).Truncate(time.Second)
	start := end.Add(-time.Minute)
	const parent = "airflow/daily.trigger/01930b1e-0000-7000-8000-000000000001"
	run := server.AddFlowRun(prefect.FlowRun{
		FlowID: flow.ID, RunCount: 1, StartTime: &start, EndTime: &end, Tags: []string{"team:a"},
		State:        &prefect.State{Type: prefect.Completed, Name: "Completed", Timestamp: end},
		JobVariables: map[string]json.RawMessage{"env": json.RawMessage(`{"OPENLINEAGE_PARENT_ID":"` + parent + `"}`)},
	})
	for description, rows := range map[string]string{
		"ol-dataset_input": `{"database_uri":"postgres://db:5432/shop","table":"public.källa"},` +
			// These are one dataset once their names are trimmed, and those below are not.
			`{"database_uri":"s3://lake","table":"sales/day=1"},{"database_uri":"s3://lake","table":"sales/day=2"},` +
			`{"database_uri":"s3://lake","table":"sales/20261130","description":"x"},{"database_uri":"s3://lake","table":"k=v"}`,
		"ol-dataset_output": `{"database_uri":"postgres://db:5432/shop","table":"public.mål"},` +
			`{"database_uri":"s3://lake","table":"out/2026/11/30","column_lineage":` +
			`{"total":[{"database_uri":"s3://lake","table":"sales/day=1/2026-11","field":"amount"}]}}`,
	} {
		data, err := json.Marshal("[" + rows + "]")
		if err != nil {
			t.Fatal(err)
		}
		server.AddArtifact(prefect.Artifact{Key: new(description), Description: &description, Data: data, FlowRunID: &run.ID})
	}
	return &world{prefect: server.URL, events: preview(t, server.URL), python: newPython(t)}
}

// preview returns the events that the listener has for the flow run.
func preview(t *testing.T, prefectURL string) []json.RawMessage {
	t.Helper()
	_, out, stderr := rig.NewListener(t, prefectURL).Run("preview", "--since", "1h")
	var events []json.RawMessage
	for line := range bytes.Lines([]byte(out)) {
		events = append(events, json.RawMessage(bytes.TrimSpace(line)))
	}
	if len(events) != 2 {
		t.Fatalf("the flow run has %d events, not START and COMPLETE:\n%s%s", len(events), out, stderr)
	}
	return events
}

// python is a pool of interpreters with the client.
type python struct {
	idle  chan *interpreter
	boto3 bool // it has AWS's library, without which DataZone's transport can't be made
}

// needBoto3 is for tests that need AWS's library.
func (p *python) needBoto3(t *testing.T) {
	t.Helper()
	if !p.boto3 {
		rig.Skip(t, "no boto3 in .cache/venv; run make test")
	}
}

type interpreter struct {
	in  *json.Encoder
	out *json.Decoder
}

// task is one configuration for an interpreter.
type task struct {
	Env    map[string]string `json:"env"`
	Dir    string            `json:"dir"`
	Events []json.RawMessage `json:"events"`
}

// answer is what became of it.
type answer struct {
	Refused string            `json:"refused"` // the client could not be made
	Failed  []string          `json:"failed"`  // events were not taken
	Console []json.RawMessage `json:"-"`
	Lines   []string          `json:"console"`
}

const interpreters = 4

func newPython(t *testing.T) *python {
	t.Helper()
	exe := rig.Python(t)
	const version = "1.54.0"
	const ask = "from openlineage.client.constants import __version__; print(__version__)"
	if out, err := exec.CommandContext(t.Context(), exe, "-c", ask).Output(); err != nil || string(bytes.TrimSpace(out)) != version {
		rig.Skip(t, "no openlineage-python "+version+" in .cache/venv; run make test")
	}
	p := &python{
		idle:  make(chan *interpreter, interpreters),
		boto3: exec.CommandContext(t.Context(), exe, "-c", "import boto3").Run() == nil,
	}
	for range interpreters {
		cmd := exec.CommandContext(t.Context(), exe, "emit.py")
		cmd.Stderr = t.Output()
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			in.Close()
			_ = cmd.Wait() // it is over once its input ends
		})
		p.idle <- &interpreter{in: json.NewEncoder(in), out: json.NewDecoder(out)}
	}
	return p
}

// emit gives events to the client under a configuration.
func (p *python) emit(t *testing.T, job task) answer {
	t.Helper()
	worker := <-p.idle
	defer func() { p.idle <- worker }()
	var a answer
	if err := worker.in.Encode(job); err != nil {
		t.Fatalf("handing a configuration to Python: %v", err)
	}
	if err := worker.out.Decode(&a); err != nil {
		t.Fatalf("reading Python's answer: %v", err)
	}
	for _, line := range a.Lines {
		a.Console = append(a.Console, json.RawMessage(line))
	}
	return a
}
