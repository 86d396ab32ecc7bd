package urn_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/prefect-openlineage/listener/transport/datahub/urn"
)

// key is what can be written and read back.
type key interface{ URN() (string, error) }

// readers read each kind of key.
func read(text string, like key) (any, error) {
	switch like.(type) {
	case urn.DatasetKey:
		return urn.ParseDataset(text)
	case urn.DataFlowKey:
		return urn.ParseDataFlow(text)
	case urn.DataJobKey:
		return urn.ParseDataJob(text)
	case urn.SchemaFieldKey:
		return urn.ParseSchemaField(text)
	default:
		return urn.ParseDataPlatformInstance(text)
	}
}

// part draws a part of a URN: anything that is not empty, likely with characters that matter. What holds an escape from
// the beginning comes back without it, so it is left out.
func part() *rapid.Generator[string] {
	letters := rapid.SampledFrom([]rune("abcXYZ019 ,():%/.#?&=\"'\\\n\t\u241fé数😀-_~*"))
	return rapid.StringOfN(letters, 1, 24, -1).Filter(func(s string) bool { return urn.Decode(s) == s })
}

func TestWhatIsBuiltIsReadBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		name := func(label string) string {
			// A platform of this form is taken for a URN.
			return rapid.Custom(func(t *rapid.T) string { return part().Draw(t, "part") }).
				Filter(func(s string) bool { return !strings.HasPrefix(s, "urn:li:") }).Draw(t, label)
		}
		flow := urn.DataFlowKey{Orchestrator: name("orchestrator"), Flow: name("flow"), Cluster: name("cluster")}
		table := urn.DatasetKey{Platform: name("platform"), Name: name("name"), Env: "PROD"}
		parent, err := table.URN()
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range []key{
			flow, table, urn.DataJobKey{Flow: flow, Job: name("job")}, urn.SchemaFieldKey{Parent: parent, Path: name("path")},
			urn.DataPlatformInstanceKey{Platform: name("platform"), Instance: name("instance")},
		} {
			text, err := k.URN()
			if err != nil {
				t.Fatalf("%#v: %v", k, err)
			}
			got, err := read(text, k)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			if diff := cmp.Diff(any(k), got); diff != "" {
				t.Fatalf("%s (-built +read):\n%s", text, diff)
			}
		}
	})
}

func TestSimpleURNsAreReadBack(t *testing.T) {
	t.Parallel()
	kinds := []struct {
		build, read func(string) (string, error)
		entity      string
	}{
		{urn.DataPlatform, urn.ParsePlatform, urn.DataPlatformType},
		{urn.DataProcessInstance, urn.ParseDataProcessInstance, urn.DataProcessInstanceType},
		{urn.Tag, urn.ParseTag, urn.TagType},
		{urn.User, urn.ParseUser, urn.UserType},
		{urn.Group, urn.ParseGroup, urn.GroupType},
		{urn.Domain, urn.ParseDomain, urn.DomainType},
		{urn.Container, urn.ParseContainer, urn.ContainerType},
	}
	for _, kind := range kinds {
		t.Run(kind.entity, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				name := part().Draw(t, "name")
				text, err := kind.build(name)
				if err != nil {
					t.Fatal(err)
				}
				if got, err := kind.read(text); err != nil || got != name {
					t.Fatalf("%q, %v, want %q", got, err, name)
				}
				if again, err := kind.build(text); err != nil || again != text {
					t.Fatalf("the URN of a URN is %q, %v, want %q", again, err, text)
				}
			})
			if _, err := kind.build(""); err == nil {
				t.Error("an empty name has a URN")
			}
			if _, err := kind.read("urn:li:other:x"); err == nil {
				t.Error("a URN of another type was read")
			}
		})
	}
}

func TestAnOwnerMayBeEither(t *testing.T) {
	t.Parallel()
	for _, build := range []func(string) (string, error){urn.User, urn.Group} {
		for _, text := range []string{"urn:li:corpuser:ada", "urn:li:corpGroup:data"} {
			if got, err := build(text); err != nil || got != text {
				t.Errorf("%q: %q, %v", text, got, err)
			}
		}
	}
	if _, err := urn.User("urn:li:corpuser:"); err == nil {
		t.Error("a user without a name was taken")
	}
}

func TestReading(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		want       urn.URN
		problem    string // in the error
	}{
		{"nested", "urn:li:dataJob:(urn:li:dataFlow:(prefect,f%2Cg,PROD),t)", urn.URN{Type: "dataJob", Parts: []string{"urn:li:dataFlow:(prefect,f%2Cg,PROD)", "t"}}, ""},
		{"an unknown type of several parts", "urn:li:x:(a,(b,c),d)", urn.URN{Type: "x", Parts: []string{"a", "(b,c)", "d"}}, ""},
		{"one part in brackets", "urn:li:x:((a))", urn.URN{Type: "x", Parts: []string{"(a)"}}, ""},
		{"no URN", "dataset", urn.URN{}, "is no URN"},
		{"no id", "urn:li:tag", urn.URN{}, "is no URN"},
		{"no type", "urn:li::x", urn.URN{}, "is no URN"},
		{"an empty id", "urn:li:tag:", urn.URN{}, "empty part"},
		{"an empty part", "urn:li:dataFlow:(a,,c)", urn.URN{}, "empty part"},
		{"too few parts", "urn:li:dataFlow:(a,b)", urn.URN{}, "should have 3 parts, not 2"},
		{"not closed", "urn:li:x:(a,(b)", urn.URN{}, "not closed"},
		{"closed twice", "urn:li:x:(a),b)", urn.URN{}, "was not opened"},
		{"another type inside", "urn:li:dataJob:(urn:li:tag:a,b)", urn.URN{}, "is a tag, not a dataFlow"},
		{"a text inside", "urn:li:dataJob:(a,b)", urn.URN{}, "is no URN"},
		{"a reserved character", "urn:li:tag:a(b", urn.URN{}, "reserved character"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := urn.Parse(tt.text)
			if tt.problem != "" {
				if err == nil || !strings.Contains(err.Error(), tt.problem) {
					t.Fatalf("%v, want %q in the error", err, tt.problem)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || got.String() != tt.text {
				t.Errorf("%s\n%s", got, diff)
			}
		})
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		refused    bool
	}{
		{"an ordinary one", "urn:li:dataset:(urn:li:dataPlatform:hive,db.t,PROD)", false},
		{"as long as may be", "urn:li:tag:" + strings.Repeat("a", urn.MaxBytes-len("urn%3Ali%3Atag%3A")), false},
		{"one more", "urn:li:tag:" + strings.Repeat("a", urn.MaxBytes-len("urn%3Ali%3Atag%3A")+1), true},
		{"longer once it is encoded", "urn:li:tag:" + strings.Repeat(">", 200), true},
		{"a long column", "urn:li:schemaField:(urn:li:tag:t," + strings.Repeat("a", 600) + ")", false},
		{"a space at the end", "urn:li:tag:a ", true},
	}
	for _, tt := range tests {
		if err := urn.Check(tt.text); (err != nil) != tt.refused {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

func TestGUID(t *testing.T) {
	t.Parallel()
	// The sums are those of Python's hashlib over json.dumps(..., sort_keys=True, separators=(",", ":")).
	for want, properties := range map[string]map[string]string{
		"8b91708fdfd71d5d39a97bf3588ac04f": {"cluster": "PROD", "orchestrator": "prefect", "id": "curious-otter"},
		"99914b932bd37a50b983c5e7c90ae93b": {},
	} {
		if got := urn.GUID(properties); got != want {
			t.Errorf("%v: %s, want %s", properties, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"urn:li:dataset:(urn:li:dataPlatform:bigquery,t,PROD)", "urn:li:dataJob:(urn:li:dataFlow:(prefect,f,PROD),t)",
		"urn:li:corpuser:a:b", "urn:li:x:((a))", "urn:li:x:(a,(b,c))", "urn:li:tag:(a", "urn:li:schemaField:(urn:li:tag:x,y)", "",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		u, err := urn.Parse(text)
		if err != nil {
			return
		}
		again, err := urn.Parse(u.String())
		if err != nil {
			t.Fatalf("%q is read as %q, which can't be read: %v", text, u, err)
		}
		if diff := cmp.Diff(u, again); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	})
}

func FuzzBuild(f *testing.F) {
	f.Add("postgres", "shop.public.orders", "PROD")
	f.Add("my,plat(form)", "%2C", "qa")
	f.Fuzz(func(t *testing.T, platform, name, env string) {
		text, err := urn.DatasetKey{Platform: platform, Name: name, Env: env}.URN()
		if err != nil {
			return
		}
		k, err := urn.ParseDataset(text)
		if err != nil {
			t.Fatalf("%q can't be read: %v", text, err)
		}
		if again, err := k.URN(); err != nil || again != text {
			t.Errorf("%q became %q, %v", text, again, err)
		}
	})
}
