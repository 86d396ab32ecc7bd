package openlineage_test

import (
	"strings"
	"testing"

	"github.com/prefect-openlineage/listener/openlineage"
)

func TestNameMap(t *testing.T) {
	t.Parallel()
	shop := openlineage.NameRule{Match: `postgres://10\.0\.0\.\d+:5432/(.*)`, Namespace: "postgres://shop:5432", Name: "$1"}
	tests := []struct {
		name       string
		rules      []openlineage.NameRule
		uri, table string
		want       string // namespace and name, or the error behind !
	}{
		{"no rules", nil, "postgresql://10.0.0.7/db", "t", "postgres://10.0.0.7:5432 db.public.t"},
		{"a rule sees what the naming table made", []openlineage.NameRule{shop}, "postgresql://u:p@10.0.0.7/db", "t", "postgres://shop:5432 db.public.t"},
		{"no rule matches", []openlineage.NameRule{shop}, "postgresql://10.0.1.7/db", "t", "postgres://10.0.1.7:5432 db.public.t"},
		{"the whole has to match", []openlineage.NameRule{{Match: "postgres://h", Namespace: "x"}}, "postgresql://h/db", "t", "postgres://h:5432 db.public.t"},
		{"an alternative is still the whole", []openlineage.NameRule{{Match: "postgres://h|d", Namespace: "x"}}, "postgresql://h/db", "t", "postgres://h:5432 db.public.t"},
		{"the first rule counts", []openlineage.NameRule{{Match: ".*", Name: "first"}, {Match: ".*", Name: "second"}}, "duckdb:///d", "t", "duckdb:///d first"},
		{"the second where the first does not match", []openlineage.NameRule{{Match: "x", Name: "first"}, {Match: ".*", Name: "second"}}, "duckdb:///d", "t", "duckdb:///d second"},
		{"the namespace alone", []openlineage.NameRule{{Match: ".*", Namespace: "prod"}}, "duckdb:///d", "t", "prod t"},
		{"groups by name and number", []openlineage.NameRule{{Match: `duckdb:///(?P<db>\w+)/(\w+)`, Namespace: "duck", Name: "${db}.$2_x${2}x"}}, "duckdb:///d", "t", "!match has no group 2_x"},
		{"groups in braces", []openlineage.NameRule{{Match: `duckdb:///(?P<db>\w+)/(\w+)`, Namespace: "duck", Name: "${db}.${2}_x$$"}}, "duckdb:///d", "t", "duck d.t_x$"},
		{"the whole as a group", []openlineage.NameRule{{Match: ".*", Name: "$0"}}, "duckdb:///d", "t", "duckdb:///d duckdb:///d/t"},
		{"the key of an asset", []openlineage.NameRule{{Match: `snowflake://(\w+)/(\w+)/(\w+)`, Namespace: "snowflake://org-acct", Name: "$1.$2.$3"}}, "snowflake://DB/S/T", "", "snowflake://org-acct DB.S.T"},
		{"the namespace of an asset's key alone", []openlineage.NameRule{{Match: `snowflake://DB/.*`, Namespace: "x"}}, "snowflake://DB/S/T", "", "x S/T"},
		{"no credentials in what a rule sees", []openlineage.NameRule{{Match: `(thing://.*)`, Name: "$1"}}, "thing://u:hunter2@h/a?token=hunter2", "", "thing://h thing://h/a"},
		{"a URI without a table that no rule knows", []openlineage.NameRule{shop}, "duckdb:///d", "", "!the dataset's name is empty"},
		{"a URI of nothing", []openlineage.NameRule{shop}, "duckdb://", "", "!the dataset's name is empty"},
		{"a bad name is still refused", []openlineage.NameRule{{Match: ".*", Name: "x"}}, "duckdb:///d", "a\nb", "!control character"},
		{"what a rule makes is checked", []openlineage.NameRule{{Match: `(.*)/t`, Namespace: "my space", Name: "${1}"}}, "duckdb:///d", "t", "my_space duckdb:///d"},
		{"what a rule makes may be refused", []openlineage.NameRule{{Match: `.*/(x?)t`, Name: "${1}"}}, "duckdb:///d", "t", "!the dataset's name is empty"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			names, err := openlineage.NewNameMap(tt.rules)
			var namespace, name string
			if err == nil {
				namespace, name, err = names.Name(tt.uri, tt.table, openlineage.SpecNaming)
			}
			if reason, refused := strings.CutPrefix(tt.want, "!"); refused {
				if err == nil || !strings.Contains(err.Error(), reason) {
					t.Errorf("got %s %s, %v, want an error with %q", namespace, name, err, reason)
				}
				return
			}
			if got := namespace + " " + name; err != nil || got != tt.want {
				t.Errorf("\n got %s, %v\nwant %s", got, err, tt.want)
			}
		})
	}
}

func TestNewNameMapRefuses(t *testing.T) {
	t.Parallel()
	good := openlineage.NameRule{Match: ".*", Name: "x"}
	tests := []struct {
		name string
		rule openlineage.NameRule
		want string
	}{
		{"no match", openlineage.NameRule{Name: "x"}, "rule 2: match is missing"},
		{"nothing to change", openlineage.NameRule{Match: "x"}, "rule 2: namespace and name are both missing"},
		{"no regular expression", openlineage.NameRule{Match: "a(b", Name: "x"}, "rule 2: match: error parsing regexp: missing closing ): `a(b`"},
		{"a parenthesis too many", openlineage.NameRule{Match: "a)|(?:b", Name: "x"}, "rule 2: match: error parsing regexp: unexpected ): `a)|(?:b`"},
		{"look-ahead", openlineage.NameRule{Match: "(?=x)", Name: "x"}, "rule 2: match: error parsing regexp: invalid or unsupported Perl syntax"},
		{"no such group", openlineage.NameRule{Match: "(x)", Namespace: "$2"}, "rule 2: namespace: match has no group 2: write ${1}x where x follows group 1"},
		{"a group that goes on", openlineage.NameRule{Match: "(x)", Name: "$1_raw"}, "rule 2: name: match has no group 1_raw"},
		{"a dollar alone", openlineage.NameRule{Match: "x", Name: "a$"}, "rule 2: name: a $ stands before no group: write $$ for a dollar"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := openlineage.NewNameMap([]openlineage.NameRule{good, tt.rule})
			if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}
