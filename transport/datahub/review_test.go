package datahub_test

import (
	"strings"
	"testing"

	"github.com/prefect-openlineage/listener/transport"
)

// A review shows what DataHub would be told and what of the event has no place there.
func TestReview(t *testing.T) {
	t.Parallel()
	tr := newTransport(&fake{})
	review := tr.Review(history(t)[6])
	if len(review.Remarks) != 1 || !strings.Contains(review.Remarks[0], "output dataset") {
		t.Errorf("%q", review.Remarks)
	}
	if last := string(review.Copies[len(review.Copies)-1]); !strings.HasPrefix(last, `{"entityType":"dataProcessInstance","entityUrn":"urn:li:`) {
		t.Errorf("%s", last)
	}
	if review := tr.Review(transport.Event{Body: []byte("{}")}); len(review.Copies) > 0 || len(review.Remarks) != 1 {
		t.Errorf("%+v", review)
	}
}
