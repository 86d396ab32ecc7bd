package adapter_test

import (
	"strings"
	"testing"

	"github.com/prefect-openlineage/listener/adapter"
)

func TestSettings(t *testing.T) {
	t.Parallel()
	good := adapter.Settings{Producer: producer, Version: "1"}
	tests := []struct {
		name   string
		change func(*adapter.Settings)
		want   string // in the error; empty: none
	}{
		{"as they are", func(*adapter.Settings) {}, ""},
		{"everything chosen", func(s *adapter.Settings) {
			s.TaskNameType, s.FlowNameType = adapter.TaskNameFull, adapter.FlowNamePath
			s.RunIDType, s.DatasetNaming = adapter.RunIDOpenLineagePrefect, adapter.DatasetNamingVerbatim
			s.Namespace = strings.Repeat("é", 1024)
		}, ""},
		{"no producer", func(s *adapter.Settings) { s.Producer = "" }, "producer"},
		{"producer that is no URI", func(s *adapter.Settings) { s.Producer = "me" }, "producer"},
		{"no version", func(s *adapter.Settings) { s.Version = "" }, "version"},
		{"control characters", func(s *adapter.Settings) { s.Namespace = "a\tb" }, "OPENLINEAGE_NAMESPACE"},
		{"long namespace", func(s *adapter.Settings) { s.Namespace = strings.Repeat("n", 1025) }, "OPENLINEAGE_NAMESPACE"},
		{"task names", func(s *adapter.Settings) { s.TaskNameType = "Full" }, "TASK_NAME_TYPE takes qualified, base or full"},
		{"flow names", func(s *adapter.Settings) { s.FlowNameType = "x" }, "FLOW_NAME_TYPE takes flow, flow-run or path"},
		{"run ids", func(s *adapter.Settings) { s.RunIDType = "x" }, "RUN_ID_TYPE takes prefect or openlineage-prefect"},
		{"dataset naming", func(s *adapter.Settings) { s.DatasetNaming = "x" }, "DATASET_NAMING takes spec or verbatim"},
		{"grace", func(s *adapter.Settings) { s.Grace = -1 }, "LISTENER_GRACE"},
		{"two at once", func(s *adapter.Settings) { s.Grace, s.Version = -1, "" }, "version must not be empty\nLISTENER_GRACE"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			settings := good
			tt.change(&settings)
			_, err := adapter.New(settings)
			switch {
			case tt.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("got %v, want %q in it", err, tt.want)
			}
		})
	}
}
