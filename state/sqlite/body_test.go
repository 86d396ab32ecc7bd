package sqlite_test

import (
	"bytes"
	"testing"

	"github.com/prefect-openlineage/listener/state/sqlite"
)

func FuzzBody(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte(`{"eventType":"START"}`))
	f.Add(bytes.Repeat([]byte(`{"eventType":"START"},`), 100))
	f.Fuzz(func(t *testing.T, body []byte) {
		first, second, err := sqlite.PackTwice(body, append([]byte("second"), body...))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(first, body) || !bytes.Equal(second, append([]byte("second"), body...)) {
			t.Error("a body came back as another")
		}
	})
}

func FuzzUnpack(f *testing.F) {
	f.Add(1, []byte("not packed"))
	f.Add(7, []byte{})
	f.Fuzz(func(_ *testing.T, codec int, stored []byte) {
		_, _ = sqlite.Unpack(codec, stored) // an error or not, but no panic
	})
}

func TestBits(t *testing.T) {
	t.Parallel()
	var set sqlite.Bits
	for _, n := range []int64{0, 7, 8, 70, 7} {
		bigger := set.With(n)
		if set.Has(n) && n != 7 || !bigger.Has(n) || bigger.Has(n+1) && n != 7 {
			t.Errorf("with %d: %v after %v", n, bigger, set)
		}
		set = bigger
	}
	if len(set) != 9 || set.Has(1) || set.Has(1000) {
		t.Errorf("set is %v", set)
	}
}
