package openlineage_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prefect-openlineage/listener/openlineage"
)

func TestMaskSecretsJSON(t *testing.T) {
	t.Parallel()
	secrets := []string{"hunter2hunter2", "hunter2", "quo\"ted", "no", "production"}
	for name, c := range map[string]struct{ in, want string }{
		"none":                     {`{"b":1.50,"a":"text"}`, `{"b":1.50,"a":"text"}`},
		"in a text":                {`{"a":"key hunter2!","n":1.50}`, `{"a":"key ***!","n":1.50}`},
		"the longer one first":     {`{"a":["hunter2hunter2"]}`, `{"a":["***"]}`},
		"escaped":                  {`{"a":{"b":"x quo\"ted y"}}`, `{"a":{"b":"x *** y"}}`},
		"a name is none":           {`{"hunter2":"hunter2"}`, `{"hunter2":"***"}`},
		"short ones are left":      {`{"a":"no"}`, `{"a":"no"}`},
		"what identifies is left":  {`{"eventType":"production","job":{"name":"production","namespace":"production"},"x":"production"}`, `{"eventType":"production","job":{"name":"production","namespace":"production"},"x":"***"}`},
		"a dataset's name is not":  {`{"inputs":[{"name":"production"}]}`, `{"inputs":[{"name":"***"}]}`},
		"job facets of that name":  {`{"job":{"facets":{"documentation":{"description":"production"}}}}`, `{"job":{"facets":{"documentation":{"description":"***"}}}}`},
		"what is no JSON, as text": {`{"a":hunter2`, `{"a":***`},
	} {
		if diff := cmp.Diff(c.want, string(openlineage.MaskSecretsJSON([]byte(c.in), secrets))); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

func TestMaskRow(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ in, want string }{
		"secret names":     {`{"id":7,"parameters":{"db_password":"x","user":"ann"}}`, `{"id":7,"parameters":{"db_password":"***","user":"ann"}}`},
		"secrets in texts": {`{"message":"at postgres://u:pw@h/db"}`, `{"message":"at postgres://***@h/db"}`},
		"no secret":        {`{"b": null, "a": [1.50, null]}`, `{"b": null, "a": [1.50, null]}`},
		"no JSON":          {`cut {"m":"postgres://u:pw@h/db`, `cut {"m":"postgres://***@h/db`},
	} {
		if diff := cmp.Diff(c.want, string(openlineage.MaskRow([]byte(c.in)))); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}
