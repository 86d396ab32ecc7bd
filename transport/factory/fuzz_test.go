package factory_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/factory"
)

// FuzzBuild looks for settings that neither build nor are refused with lines that name a path.
func FuzzBuild(f *testing.F) {
	for _, seed := range []string{
		`{"type":"http","url":"http://h","auth":{"type":"jwt"}}`,
		`{"type":"async_http","url":"http://u:p@h/x","auth":{"type":"oauth2","tokenEndpoint":"h","tokenFields":[]},"verify":"/no","retry":{"total":-1}}`,
		`{"type":"http","url":"https://h","sslContext":{"clientKeyPath":"x"},"custom_headers":{"a b":1},"compression":"br"}`,
		`{"type":"composite","continue_on_success":false,"transports":{"a":{"type":"noop"},"b":{},"c":{"type":"console","priority":null}}}`,
		`{"type":"composite","continue_on_failure":false,"sort_transports":true,"transports":[{"type":"composite","transports":[]},{"type":"noop","priority":"2"}]}`,
		`{"type":"transform","transformer_class":"x.Y","transport":{"type":"file"},"transformer_properties":[]}`,
		`{"type":"file","log_file_path":"s3://x","append":"maybe","filesystem":"a.B"}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var spec map[string]any
		if json.Unmarshal([]byte(text), &spec) != nil {
			t.Skip()
		}
		built, err := factory.Build(spec, factory.Options{})
		for _, d := range built {
			if d.Name == "" || d.Parallel < 1 || d.Places[""] == "" {
				t.Errorf("%+v", d)
			}
			_ = d.Transport.Close(t.Context()) // it has sent nothing
		}
		if (err == nil) == (len(built) == 0) {
			t.Errorf("%d destinations and %v", len(built), err)
		}
		if joined, ok := err.(interface{ Unwrap() []error }); ok {
			for _, one := range joined.Unwrap() {
				if wrong, ok := errors.AsType[*transport.ConfigError](one); !ok || !strings.HasPrefix(wrong.Path, "transport") {
					t.Errorf("%v", one)
				}
			}
		}
	})
}
