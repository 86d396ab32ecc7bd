package openlineage_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/prefect-openlineage/listener/openlineage"
)

// The vectors were made with openlineage-python 1.54.0.
func TestStaticUUID(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, at, data, want string
	}{
		{"epoch", "1970-01-01T00:00:00Z", "", "00000000-0000-77cd-9b50-381a2d2b8cfa"},
		{"whole seconds", "2024-01-01T00:00:00Z", "ns.flow", "018cc251-f400-74e0-877d-4f341901ad5c"},
		{"milliseconds", "2024-01-01T00:00:00.123Z", "ns.flow", "018cc251-f47b-7228-bc72-57083782de17"},
		{"microseconds", "2024-01-01T00:00:00.123456Z", "ns.flow", "018cc251-f47b-72ac-9c30-ab4421209059"},
		{"nanoseconds are cut off", "2024-01-01T00:00:00.123456999Z", "ns.flow", "018cc251-f47b-72ac-9c30-ab4421209059"},
		{"another zone", "2024-01-01T02:00:00.123456+02:00", "ns.flow", "018cc251-f47b-72ac-9c30-ab4421209059"},
		{"UTF-8", "2025-06-30T23:59:59.999999Z", "default.flux-é-数据", "0197c348-87ff-770c-9c53-1b6cfa8de1d8"},
		{"half-hour zone", "2026-11-30T04:50:30.000001-05:30", "prefect.my_task", "01a22bf8-69b0-7944-8447-3c8385b9739d"},
		{"before the epoch", "1969-12-31T23:59:59.999Z", "x", "ffffffff-ffff-79ad-a43b-cc2a2e0b3fc7"},
		{"cut toward zero", "1969-12-31T23:59:59.9995Z", "x", "00000000-0000-7413-b06d-07e838397bcc"},
		{"1960", "1960-01-01T00:00:00.5Z", "x", "ffb683a1-35f4-74a9-8be4-d1cd8427e30b"},
		{"bytes that are no text", "2038-01-19T03:14:08Z", "\x00\xff", "01f40000-0000-7845-8fd3-17adfb9de855"},
		{"double precision loses a millisecond", "2038-09-22T17:42:07.036Z", "x", "01f8f5f7-11bb-70aa-ad38-66581474db01"},
		{"year 1", "0001-01-01T00:00:00Z", "x", "c77cedd3-2800-75e2-9791-7c9ced199950"},
		{"year 9999", "9999-12-31T23:59:59.999999Z", "x", "e677d21f-dc00-7386-9547-41e6139cd023"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			at, err := time.Parse(time.RFC3339Nano, tt.at)
			if err != nil {
				t.Fatal(err)
			}
			if got := openlineage.StaticUUID(at, []byte(tt.data)); got != uuid.MustParse(tt.want) {
				t.Errorf("StaticUUID(%s, %q) = %s, want %s", tt.at, tt.data, got, tt.want)
			}
		})
	}
}

func TestStaticUUIDIsOfVersion7(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		micros := rapid.Int64Range(-62135596800000000, 253402300799999999).Draw(t, "micros")
		id := openlineage.StaticUUID(time.UnixMicro(micros), rapid.SliceOf(rapid.Byte()).Draw(t, "data"))
		if id.Version() != 7 || id.Variant() != uuid.RFC4122 {
			t.Fatalf("%s has version %d, variant %s", id, id.Version(), id.Variant())
		}
	})
}
