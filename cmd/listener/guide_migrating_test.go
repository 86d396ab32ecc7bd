package main

import (
	"strings"
	"testing"

	"github.com/prefect-openlineage/listener/test/docs"
)

// The settings that the guide on moving gives are taken without a word of doubt.
func TestTheGuideOnMoving(t *testing.T) {
	t.Parallel()
	tried := 0
	for _, section := range docs.Read(t, "../../docs/migrating.md") {
		for _, fence := range section.Fences {
			if fence.Language != "env" {
				continue
			}
			tried++
			env := variables(t, fence.Text)
			if !strings.Contains(fence.Text, "TRANSPORT") {
				env = append(env, "OPENLINEAGE__TRANSPORT__TYPE=noop")
			}
			clean(t, section.Heading, world{env: env})
		}
	}
	if tried < 5 {
		t.Errorf("only %d examples", tried)
	}
}
