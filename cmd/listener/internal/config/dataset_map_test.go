package config_test

import (
	"testing"

	"github.com/prefect-openlineage/listener/openlineage"
)

func TestDatasetMap(t *testing.T) {
	t.Parallel()
	const yaml = "# comments are fine\n- match: mysql://old:(\\d+)/(.*)\n  namespace: mysql://new:$1\n  name: $2\n- {match: duckdb:///.*, name: all}\n"
	const json = `[{"match": "mysql://old:(\\d+)/(.*)", "namespace": "mysql://new:$1", "name": "$2"}, {"match": "duckdb:///.*", "name": "all"}]`
	for name, s := range map[string]system{
		"inline":    {env: []string{"DATASET_MAP=" + json}},
		"JSON file": {env: []string{"DATASET_MAP=/etc/map.json"}, files: map[string]string{"etc/map.json": json}},
		"YAML file": {env: []string{"DATASET_MAP=/etc/map.yml"}, files: map[string]string{"etc/map.yml": yaml}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg, _ := mustLoad(t, s)
			for _, want := range [][4]string{
				{"mysql://old/shop", "orders", "mysql://new:3306", "shop.orders"},
				{"duckdb:///d", "t", "duckdb:///d", "all"},
				{"mysql://other/shop", "orders", "mysql://other:3306", "shop.orders"},
			} {
				namespace, table, err := cfg.Names.DatasetMap.Name(want[0], want[1], openlineage.SpecNaming)
				if err != nil {
					t.Fatal(err)
				}
				equal(t, [2]string{want[2], want[3]}, [2]string{namespace, table})
			}
			value, origin := setting(t, cfg, "DATASET_MAP")
			equal(t, "2 rules", value)
			equal(t, "environment DATASET_MAP", origin)
		})
	}
}

func TestDatasetMapRefuses(t *testing.T) {
	t.Parallel()
	const takes = `takes a list of rules, such as [{"match": "postgres://10[.]0[.]0[.]1:5432/(.*)", "namespace": "postgres://shop:5432", "name": "$1"}]: `
	for _, test := range []struct {
		name, value, file string
		want              []string
	}{
		{"no file", "map.yml", "", []string{"DATASET_MAP: takes rules as JSON, or a file that holds them: /srv/app/map.yml: file does not exist"}},
		{"an object", `{"match": "a"}`, "", []string{"DATASET_MAP: " + takes + "it is no list"}},
		{"JSON that breaks off", `[{"match": `, "", []string{"DATASET_MAP: " + takes + "line 1, column 10: unexpected end of JSON input"}},
		{"an empty file", "/etc/map.yml", " \n", []string{"DATASET_MAP (/etc/map.yml): " + takes + "line 1, column 0: unexpected end of JSON input"}},
		{"YAML that is none", "/etc/map.yml", "- match: [\n", []string{"DATASET_MAP (/etc/map.yml): " + takes + "line 2: did not find expected node content"}},
		{"every bad rule is named", `[{"match": 1, "name": "x"}, {"match": "a", "nam": "x"}, 7]`, "", []string{
			"DATASET_MAP: rule 1: match: takes a text", "DATASET_MAP: rule 2: nam: is no key here; did you mean name?", "DATASET_MAP: rule 3: takes an object with match, namespace, name",
		}},
		{"a bad regular expression in a file", "/etc/map.yml", "- match: a\n  name: b\n- match: a(b\n  name: x\n", []string{"DATASET_MAP (/etc/map.yml): rule 2: match: error parsing regexp: missing closing ): `a(b`"}},
		{"a group that there is not", `[{"match": "a", "name": "$1"}]`, "", []string{"DATASET_MAP: rule 1: name: match has no group 1: write ${1}x where x follows group 1"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := system{env: []string{"DATASET_MAP=" + test.value}}
			if test.file != "" {
				s.files = map[string]string{"etc/map.yml": test.file}
			}
			equal(t, test.want, problems(s))
		})
	}
}
