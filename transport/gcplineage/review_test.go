package gcplineage_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/transporttest"
)

func TestReview(t *testing.T) {
	t.Parallel()
	const together = "; Google draws a line only between inputs and outputs of one event (FLOW_DATASETS=rollup puts those of all tasks into the flow's)"
	a, b := names{"bigquery", "p.d.a"}, names{"gs://bucket", "b"}
	duck := names{"duckdb:///db", "customers"}
	long := names{"bigquery", strings.Repeat("x", 4000)}
	tests := []struct {
		name     string
		unmapped string
		in, out  []names
		copies   int
		want     []string
	}{
		{"nothing to link", "custom", nil, nil, 1, nil},
		{"a line", "custom", []names{a}, []names{b}, 1, nil},
		{"outputs alone", "custom", nil, []names{a}, 1, []string{"it has outputs and no inputs" + together}},
		{"inputs alone", "custom", []names{a}, nil, 1, []string{"it has inputs and no outputs" + together}},
		{"custom", "custom", []names{duck}, []names{a}, 1, []string{"Google has no names for the datasets of duckdb:///db: customers goes as duckdb:///db/customers in the namespace custom (unmapped: custom)"}},
		{"asis", "asis", []names{duck}, []names{a}, 1, []string{"Google has no names for the datasets of duckdb:///db: customers may be refused or not be shown (unmapped: asis)"}},
		{"drop", "drop", []names{duck}, []names{a}, 1, []string{
			"Google has no names for the datasets of duckdb:///db: customers is left out (unmapped: drop)", "it has outputs and no inputs" + together,
		}},
		{"drop all", "drop", []names{duck}, nil, 1, []string{
			"Google has no names for the datasets of duckdb:///db: customers is left out (unmapped: drop)", "no dataset is left, so Google draws nothing",
		}},
		{"a long name", "custom", []names{long}, []names{a}, 1, []string{"a dataset's name has 4009 characters, and Google takes 4000: the event may be refused"}},
		{"parts", "custom", many("i", 40), many("o", 30), 2, []string{"its 40 inputs and 30 outputs make 1200 links, and Google takes 1000 in one message: it goes in 2 messages"}},
		{"too many", "custom", many("i", 300), many("o", 200), 0, []string{"the event links 300 inputs to 200 outputs, and Google takes 1000 links in one message: goes without the datasets"}},
	}
	for _, tt := range tests {
		sink := transporttest.NewSink(t)
		review := to(t, sink, map[string]any{"unmapped": tt.unmapped}, static("x")).Review(with(tt.in, tt.out))
		if diff := cmp.Diff(tt.want, review.Remarks); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		if len(review.Copies) != tt.copies || len(sink.Requests()) != 0 {
			t.Errorf("%s: %d copies, %d requests", tt.name, len(review.Copies), len(sink.Requests()))
		}
	}
}

// The copies of a review are what is sent.
func TestReviewShowsWhatIsSent(t *testing.T) {
	t.Parallel()
	sink := transporttest.NewSink(t)
	tr := to(t, sink, nil, static("x"))
	for _, event := range []transport.Event{transporttest.Event(1, 0), with(many("i", 40), many("o", 30)), with([]names{{"duckdb:///db", "c"}}, nil)} {
		sink.Forget()
		if err := tr.Emit(t.Context(), event); err != nil {
			t.Fatal(err)
		}
		var sent []string
		for _, r := range sink.Taken() {
			sent = append(sent, string(r.Body))
		}
		var shown []string
		for _, body := range tr.Review(event).Copies {
			shown = append(shown, string(body))
		}
		if diff := cmp.Diff(sent, shown); diff != "" {
			t.Errorf("(-sent +shown):\n%s", diff)
		}
	}
}
