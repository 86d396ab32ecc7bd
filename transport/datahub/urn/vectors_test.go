package urn_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/prefect-openlineage/listener/transport/datahub/urn"
)

// vector is one call of a builder of acryl-datahub 1.7.0.17 and what came of it.
type vector struct {
	Func  string  `json:"func"`
	Args  []any   `json:"args"`
	URN   *string `json:"urn"`
	Error *string `json:"error"`
}

// departures are the vectors that are not followed, each with its reason and what is written instead.
var departures = map[string]struct{ want, reason string }{
	"urn:li:dataPlatformInstance:(urn:li:dataPlatform:hive,a,b)": {
		"urn:li:dataPlatformInstance:(urn:li:dataPlatform:hive,a%2Cb)",
		"the Python builder escapes nothing, and its own parser refuses the result for its three parts",
	},
	"urn:li:dataProcessInstance:a,b(c)": {
		"urn:li:dataProcessInstance:a%2Cb%28c%29",
		"the Python builder escapes nothing, and its own parser refuses the result for its reserved characters",
	},
}

func TestVectorsOfThePythonClient(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Vectors []vector `json:"vectors"`
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Vectors) < 40 {
		t.Errorf("only %d vectors", len(file.Vectors))
	}
	departed := 0
	for i, v := range file.Vectors {
		got, err := call(t, v)
		switch {
		case v.URN == nil:
			if err == nil {
				t.Errorf("%d: %s%q gives %q, and the Python client refuses it: %s", i, v.Func, v.Args, got, *v.Error)
			}
			continue
		case err != nil:
			t.Errorf("%d: %s%q: %v, want %s", i, v.Func, v.Args, err, *v.URN)
			continue
		}
		want := *v.URN
		if departure, ok := departures[want]; ok {
			want, departed = departure.want, departed+1
		}
		if got != want {
			t.Errorf("%d: %s%q\ngot  %s\nwant %s", i, v.Func, v.Args, got, want)
		}
		if _, err := urn.Parse(got); v.Func != "parse" && err != nil {
			t.Errorf("%d: what was built can't be read: %v", i, err)
		}
	}
	if departed != len(departures) {
		t.Errorf("%d departures, want each of the %d once", departed, len(departures))
	}
}

// call makes the call of a vector with this package's means.
func call(t *testing.T, v vector) (string, error) {
	t.Helper()
	arg := func(i int, fallback string) string {
		if i >= len(v.Args) || v.Args[i] == nil {
			return fallback
		}
		return v.Args[i].(string)
	}
	switch v.Func {
	case "make_dataset_urn":
		return urn.Dataset(arg(0, ""), "", arg(1, ""), arg(2, "")).URN()
	case "make_dataset_urn_with_platform_instance":
		return urn.Dataset(arg(0, ""), arg(2, ""), arg(1, ""), arg(3, "")).URN()
	case "make_data_platform_urn":
		return urn.DataPlatform(arg(0, ""))
	case "make_dataplatform_instance_urn":
		return urn.DataPlatformInstanceKey{Platform: arg(0, ""), Instance: arg(1, "")}.URN()
	case "make_data_flow_urn":
		return urn.DataFlow(arg(0, ""), arg(3, ""), arg(1, ""), arg(2, "")).URN()
	case "make_data_job_urn":
		return urn.DataJobKey{Flow: urn.DataFlow(arg(0, ""), arg(4, ""), arg(1, ""), arg(3, "")), Job: arg(2, "")}.URN()
	case "make_data_job_urn_with_flow":
		return urn.DataJobOf(arg(0, ""), arg(1, ""))
	case "make_data_process_instance_urn":
		return urn.DataProcessInstance(arg(0, ""))
	case "dpi_key":
		return urn.DataProcessInstance(urn.DataProcessInstanceID(arg(0, ""), arg(1, ""), arg(2, "")))
	case "make_tag_urn":
		return urn.Tag(arg(0, ""))
	case "make_user_urn":
		return urn.User(arg(0, ""))
	case "make_group_urn":
		return urn.Group(arg(0, ""))
	case "make_schema_field_urn":
		return urn.SchemaFieldKey{Parent: arg(0, ""), Path: arg(1, "")}.URN()
	case "make_domain_urn":
		return urn.Domain(arg(0, ""))
	case "parse":
		u, err := urn.Parse(arg(0, ""))
		return strings.Join(append([]string{u.Type}, u.Parts...), "|"), err
	default:
		return "", fmt.Errorf("no builder for %s", v.Func)
	}
}
