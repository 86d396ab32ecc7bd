package transform_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/transform"
	"github.com/prefect-openlineage/listener/transport/transporttest"
)

// The namespace is turned back, so that the contract's bodies come out as they went in.
func TestContract(t *testing.T) {
	t.Parallel()
	transporttest.Run(t, func(testing.TB) (transport.Transport, func() [][]byte) {
		r := &transporttest.Recorder{}
		tr := transform.New(transform.JobNamespace{Namespace: "elsewhere", Parents: true}, closeable{r})
		return tr, func() [][]byte {
			var bodies [][]byte
			for _, event := range r.Taken() {
				bodies = append(bodies, bytes.ReplaceAll(event.Body, []byte(`"elsewhere"`), []byte(`"prefect"`)))
			}
			return bodies
		}
	})
}

func TestJobNamespace(t *testing.T) {
	t.Parallel()
	const event = `{"eventType": "START", "job":{"name":"n","namespace": "old","facets":{"job":{"namespace":"old"}}},` +
		`"inputs":[{"namespace":"old","job":{"namespace":"old"}}],"n":1.500,` +
		`"run":{"runId":"r","facets":{"parent":{"job":{"namespace":"old","name":"p"},"root":{"job":{"name":"g","namespace":"old"}}}}}}`
	tests := []struct {
		name    string
		change  transform.JobNamespace
		body    string
		want    string
		wantErr bool
	}{
		{
			"with parents", transform.JobNamespace{Namespace: "new", Parents: true}, event,
			`{"eventType": "START", "job":{"name":"n","namespace": "new","facets":{"job":{"namespace":"old"}}},` +
				`"inputs":[{"namespace":"old","job":{"namespace":"old"}}],"n":1.500,` +
				`"run":{"runId":"r","facets":{"parent":{"job":{"namespace":"new","name":"p"},"root":{"job":{"name":"g","namespace":"new"}}}}}}`, false,
		},
		{
			"the job alone", transform.JobNamespace{Namespace: "new"}, event,
			strings.Replace(event, `"namespace": "old"`, `"namespace": "new"`, 1), false,
		},
		{"signs", transform.JobNamespace{Namespace: `a"<б>`}, `{"job":{"namespace":"x\"y"}}`, `{"job":{"namespace":"a\"<б>"}}`, false},
		{"keys in front", transform.JobNamespace{Namespace: "new"}, `{"namespace":"a","job":[{"namespace":"b"}],"x":{"job":{"namespace":"c"}}}`, `{"namespace":"a","job":[{"namespace":"b"}],"x":{"job":{"namespace":"c"}}}`, false},
		{"no job", transform.JobNamespace{Namespace: "new"}, `{}`, `{}`, false},
		{"no text", transform.JobNamespace{Namespace: "new"}, `{"job":{"namespace":5}}`, `{"job":{"namespace":5}}`, false},
		{"a key that is a path", transform.JobNamespace{Namespace: "new"}, `{"job/namespace":"a"}`, `{"job/namespace":"a"}`, false},
		{"an escaped key", transform.JobNamespace{Namespace: "new"}, `{"\u006aob":{"namespace":"a"}}`, `{"\u006aob":{"namespace":"new"}}`, false},
		{"cut off", transform.JobNamespace{Namespace: "new"}, `{"job":{"namespace":"a"`, "", true},
		{"nothing", transform.JobNamespace{Namespace: "new"}, ``, "", true},
		{"no JSON", transform.JobNamespace{Namespace: "new"}, `{]`, "", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			before := transport.Event{Namespace: "old", Name: "n", Body: []byte(tt.body)}
			after, err := tt.change.Transform(before)
			if (err != nil) != tt.wantErr || string(after.Body) != tt.want {
				t.Fatalf("%v\n%s\n%s", err, after.Body, tt.want)
			}
			if string(before.Body) != tt.body {
				t.Error("the event that others get was changed")
			}
			if err == nil && (after.Namespace != tt.change.Namespace || after.Name != "n") {
				t.Errorf("%q %q", after.Namespace, after.Name)
			}
		})
	}
}

func TestAnEventThatCannotBeChangedIsPermanent(t *testing.T) {
	t.Parallel()
	var r transporttest.Recorder
	err := transform.New(transform.JobNamespace{Namespace: "new"}, &r).Emit(t.Context(), transport.Event{Body: []byte("{")})
	if e := transporttest.RequireError(t, err); e.Outcome != transport.Permanent || len(r.Tried()) > 0 {
		t.Errorf("%v, sent on %d times", e.Outcome, len(r.Tried()))
	}
}

func TestErrorsProbesAndClosePassThrough(t *testing.T) {
	t.Parallel()
	var r transporttest.Recorder
	tr := transform.New(transform.JobNamespace{Namespace: "new"}, &r)
	if note, err := tr.Probe(t.Context()); err != nil || note == "" {
		t.Errorf("%q %v", note, err)
	}
	if err := tr.Close(t.Context()); err != nil || !r.Closed() {
		t.Errorf("%v, closed: %v", err, r.Closed())
	}
	if note, err := transform.New(transform.JobNamespace{}, prober{}).Probe(t.Context()); note != "seen" || !errors.Is(err, errSeen) {
		t.Errorf("%q %v", note, err)
	}
}

// FuzzJobNamespace: the result is the event but for the namespace, in meaning and, as far as it goes, in bytes.
func FuzzJobNamespace(f *testing.F) {
	f.Add(`{"job":{"namespace":"a","name":"b"},"x":[1,2.0,"\u00e9"]}`, "new")
	f.Add(`{"run":{"facets":{"parent":{"root":{"job":{"namespace":"a"}}}}}}`, "")
	f.Fuzz(func(t *testing.T, body, namespace string) {
		var before any
		if json.Unmarshal([]byte(body), &before) != nil {
			return
		}
		after, err := transform.JobNamespace{Namespace: namespace, Parents: true}.Transform(transport.Event{Body: []byte(body)})
		if err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		again, err := transform.JobNamespace{Namespace: namespace, Parents: true}.Transform(after)
		if err != nil || !bytes.Equal(again.Body, after.Body) {
			t.Fatalf("%s becomes %s, then %s %v", body, after.Body, again.Body, err)
		}
		var changed any
		if err := json.Unmarshal(after.Body, &changed); err != nil {
			t.Fatalf("%s becomes %s: %v", body, after.Body, err)
		}
		if _, isMap := before.(map[string]any); !isMap && !reflect.DeepEqual(before, changed) {
			t.Error(cmp.Diff(before, changed))
		}
	})
}

// A review is that of the changed event.
func TestReview(t *testing.T) {
	t.Parallel()
	tr := transform.New(transform.JobNamespace{Namespace: "new"}, &transporttest.Recorder{})
	review := tr.Review(transporttest.Event(1, 0))
	if len(review.Copies) != 1 || !strings.Contains(string(review.Copies[0]), `"namespace":"new"`) || len(review.Remarks) != 0 {
		t.Errorf("%s %v", review.Copies, review.Remarks)
	}
	broken := transporttest.Event(1, 0)
	broken.Body = []byte("{")
	if review := tr.Review(broken); len(review.Copies) != 0 || len(review.Remarks) != 1 {
		t.Errorf("%s %v", review.Copies, review.Remarks)
	}
}
