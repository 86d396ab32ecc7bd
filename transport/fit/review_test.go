package fit_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/fit"
	"github.com/prefect-openlineage/listener/transport/transporttest"
)

// A review shows the copy that is sent, and says what it lacks.
func TestReview(t *testing.T) {
	t.Parallel()
	whole := len(large().Body)
	for _, limit := range []int{0, whole, whole - 1, 600, 10} {
		sink := &transporttest.Recorder{}
		to := fit.New(sink, limit, nil)
		var sent [][]byte
		if err := to.Emit(t.Context(), large()); err == nil {
			sent = [][]byte{sink.Taken()[0].Body}
		}
		review := to.Review(large())
		if diff := cmp.Diff(sent, review.Copies); diff != "" {
			t.Errorf("%d (-sent +shown):\n%s", limit, diff)
		}
		if said := len(review.Remarks) > 0; said != (limit > 0 && limit < whole) {
			t.Errorf("%d: %v", limit, review.Remarks)
		}
	}
	if got := fit.New(reviewer{}, 0, nil).Review(large()).Remarks; len(got) != 1 || got[0] != "seen" {
		t.Errorf("what the transport behind says is not there: %v", got)
	}
}

type reviewer struct{ transport.Transport }

func (reviewer) Review(transport.Event) transport.Review {
	return transport.Review{Remarks: []string{"seen"}}
}
