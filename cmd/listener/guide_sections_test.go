package main

import (
	"slices"
	"testing"

	"github.com/prefect-openlineage/listener/cmd/listener/internal/config"
	"github.com/prefect-openlineage/listener/test/docs"
)

// Every key beside the transport stands in the guide once, and every key of the guide is one.
func TestTheGuideHasEveryKeyBesideTheTransport(t *testing.T) {
	t.Parallel()
	var written []string
	for _, row := range docs.Read(t, settingsGuide).Section(t, "Beside the transport").Tables[0].Rows {
		written = append(written, docs.Spans(row[0])[0])
	}
	known := config.SectionKeys()
	slices.Sort(known)
	slices.Sort(written)
	equal(t, known, written)
}
