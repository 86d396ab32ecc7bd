package openlineage_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/prefect-openlineage/listener/openlineage"
)

func TestCheckDataset(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name                    string
		namespace, dataset      string
		wantNamespace, wantName string
		wantErr                 string
	}{
		{"as it is", "postgres://h:5432", "db.public.t", "postgres://h:5432", "db.public.t", ""},
		{"trimmed", " a ", "\tb\n", "a", "b", ""},
		{"every character that Marquez takes", "aZ09:;=/_-.@+", "x", "aZ09:;=/_-.@+", "x", ""},
		{"odd ones in the namespace", "a b%c?[é]", "x", "a_b_c____", "x", ""},
		{"odd ones in the name", "a", "é {x} %?#\"'", "a", "é {x} %?#\"'", ""},
		{"invalid UTF-8", "a\xffb", "c\xffd", "a_b", "c\uFFFDd", ""},
		{"longest", strings.Repeat("a", 1024), strings.Repeat("é", 788), strings.Repeat("a", 1024), strings.Repeat("é", 788), ""},
		{"no namespace", " ", "x", "", "", "namespace is empty"},
		{"no name", "a", " \n", "", "", "name is empty"},
		{"newline in the namespace", "a\nb", "x", "", "", "namespace holds a control character"},
		{"newline in the name", "a", "x\ny", "", "", "name holds a control character"},
		{"NUL in the name", "a", "x\x00y", "", "", "name holds a control character"},
		{"next line", "a", "x\u0085y", "", "", "name holds a control character"},
		{"paragraph separator", "a", "x\u2029y", "", "", "name holds a control character"},
		{"nothing to send", "数据", "x", "", "", "no letter or digit"},
		{"long namespace", strings.Repeat("a", 1025), "x", "", "", "longer than 1024 characters"},
		{"long name", "a", strings.Repeat("x", 2600), "", "", "longer than 2600 bytes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			namespace, name, err := openlineage.CheckDataset(tt.namespace, tt.dataset)
			if (err == nil) != (tt.wantErr == "") || err != nil && !strings.Contains(err.Error(), tt.wantErr) {
				t.Fatalf("error %v, want %q", err, tt.wantErr)
			}
			if namespace != tt.wantNamespace || name != tt.wantName {
				t.Errorf("got %q, %q, want %q, %q", namespace, name, tt.wantNamespace, tt.wantName)
			}
		})
	}
}

func TestCheckNamespace(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"default", "prod é", strings.Repeat("é", 1024)} {
		if err := openlineage.CheckNamespace(good); err != nil {
			t.Errorf("CheckNamespace(%.20q): %v", good, err)
		}
	}
	for _, bad := range []string{"", "  ", "a\nb", "a\x00b", "a\u2028b", strings.Repeat("a", 1025)} {
		if openlineage.CheckNamespace(bad) == nil {
			t.Errorf("CheckNamespace(%.20q) took it", bad)
		}
	}
}

func TestCleanNamespaceAndJobName(t *testing.T) {
	t.Parallel()
	if got := openlineage.CleanNamespace(" a\nb\x00c "); got != "a_b_c" && got != "a_b\uFFFDc" {
		t.Errorf("CleanNamespace: %q", got)
	}
	if got := openlineage.CleanJobName("etl\tdaily"); got != "etl_daily" {
		t.Errorf("CleanJobName: %q", got)
	}
	long := strings.Repeat("x", 3000)
	if openlineage.CleanJobName(long+"a") == openlineage.CleanJobName(long+"b") {
		t.Error("two long names became one")
	}
	if openlineage.CleanNamespace(long+"a") == openlineage.CleanNamespace(long+"b") {
		t.Error("two long namespaces became one")
	}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Repeat(rapid.String().Draw(t, "text"), rapid.IntRange(1, 400).Draw(t, "times"))
		name := openlineage.CleanJobName(text)
		if len(name) > openlineage.MaxJobNameBytes || !utf8.ValidString(name) || openlineage.CleanJobName(name) != name {
			t.Fatalf("CleanJobName(%.40q) = %.40q of %d bytes", text, name, len(name))
		}
		namespace := openlineage.CleanNamespace(text)
		if openlineage.CleanNamespace(namespace) != namespace {
			t.Fatalf("CleanNamespace(%.40q) changes what it made", text)
		}
		if err := openlineage.CheckNamespace(namespace); err != nil && namespace != "" {
			t.Fatalf("CleanNamespace(%.40q) = %.40q: %v", text, namespace, err)
		}
	})
}
