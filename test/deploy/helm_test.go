package deploy_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"

	"github.com/prefect-openlineage/listener/test/docs"
)

const chart = "deploy/helm/prefect-openlineage-listener"

// helm calls helm with folders of its own beside a cluster that has nothing, and returns what it printed.
func helm(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	cmd := command(tool(t, "helm"), args...)
	cmd.Env = helmEnv(t, t.TempDir())
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	return out.String(), errs.String(), err
}

func helmEnv(t *testing.T, home string) []string {
	t.Helper()
	return []string{
		"HOME=" + home, "HELM_CACHE_HOME=" + home, "HELM_CONFIG_HOME=" + home, "HELM_DATA_HOME=" + home,
		"KUBECONFIG=/nonexistent", "HELM_KUBEAPISERVER=" + emptyCluster(t),
	}
}

// emptyCluster is as much of a cluster's API as helm asks before it would change anything.
func emptyCluster(t *testing.T) (url string) {
	t.Helper()
	answers := map[string]string{
		"/version": `{"major": "1", "minor": "35", "gitVersion": "v1.35.0"}`,
		"/api":     `{"kind": "APIVersions", "versions": ["v1"]}`,
		"/apis": `{"kind": "APIGroupList", "apiVersion": "v1", "groups": [{"name": "apps",
			"versions": [{"groupVersion": "apps/v1", "version": "v1"}], "preferredVersion": {"groupVersion": "apps/v1", "version": "v1"}}]}`,
		"/api/v1":       resources("v1", "services Service", "serviceaccounts ServiceAccount", "pods Pod"),
		"/apis/apps/v1": resources("apps/v1", "statefulsets StatefulSet"),
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := answers[r.URL.Path]
		if strings.HasSuffix(r.URL.Path, "/secrets") {
			answer = `{"kind": "SecretList", "apiVersion": "v1", "items": []}`
		}
		if answer == "" || r.Method != http.MethodGet {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(answer))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// resources is a cluster's list of the kinds that it knows in a group, each given as its plural and its name.
func resources(group string, kinds ...string) string {
	var items []string
	for _, kind := range kinds {
		plural, name, _ := strings.Cut(kind, " ")
		items = append(items, fmt.Sprintf(`{"name": %q, "kind": %q, "singularName": "", "namespaced": true, "verbs": ["get", "create"]}`, plural, name))
	}
	return fmt.Sprintf(`{"kind": "APIResourceList", "groupVersion": %q, "resources": [%s]}`, group, strings.Join(items, ","))
}

// render is what the chart makes of values.
func render(t *testing.T, args ...string) []object {
	t.Helper()
	out, errs, err := helm(t, append([]string{"template", "lineage", chart, "--namespace", "data"}, args...)...)
	if err != nil {
		t.Fatalf("helm template %v: %v\n%s", args, err, errs)
	}
	return checked(t, out)
}

func kindOf(t *testing.T, all []object, kind string) object {
	t.Helper()
	for _, o := range all {
		if o.text("kind") == kind {
			return o
		}
	}
	t.Fatalf("there is no %s", kind)
	return nil
}

// TestChart has helm check the chart with each file of values, and Kubernetes' own types read what it makes of it, for the
// oldest Kubernetes that the chart is for and a new one.
func TestChart(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(path(chart, "ci", "*-values.yaml"))
	if err != nil || len(files) < 4 {
		t.Fatal("there are no values to try: ", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), "-values.yaml"), func(t *testing.T) {
			t.Parallel()
			if out, errs, err := helm(t, "lint", "--strict", chart, "--values", file); err != nil {
				t.Errorf("helm lint: %v\n%s%s", err, out, errs)
			}
			for _, version := range []string{"1.25.0", "1.35.0"} {
				all := render(t, "--values", file, "--kube-version", version)
				if kindOf(t, all, "StatefulSet").text("metadata", "namespace") != "data" {
					t.Error("it is not in the release's namespace")
				}
			}
		})
	}
}

func kinds(all []object) []string {
	var names []string
	for _, o := range all {
		names = append(names, o.text("kind"))
	}
	slices.Sort(names)
	return names
}

// TestChartMakes looks at what comes of some values.
func TestChartMakes(t *testing.T) {
	t.Parallel()
	plain := render(t, "--values", path(chart, "ci", "plain-values.yaml"))
	if diff := cmp.Diff([]string{"Pod", "Service", "ServiceAccount", "StatefulSet"}, kinds(plain)); diff != "" {
		t.Error(diff)
	}
	all := render(t, "--values", path(chart, "ci", "everything-values.yaml"))
	want := []string{
		"ConfigMap", "ConfigMap", "NetworkPolicy", "Pod", "PodDisruptionBudget", "PrometheusRule", "Service", "ServiceAccount",
		"ServiceMonitor", "StatefulSet",
	}
	if diff := cmp.Diff(want, kinds(all)); diff != "" {
		t.Error(diff)
	}
	pod := podOf(kindOf(t, all, "StatefulSet"))
	container := pod.list("spec", "containers")[0]
	variables := map[string]string{}
	for _, v := range container.list("env") {
		variables[v.text("name")] = v.text("value")
	}
	for name, value := range map[string]string{
		"PREFECT_API_KEY_FILE": "/run/secrets/prefect/api-key", "PREFECT_API_AUTH_STRING_FILE": "/run/secrets/prefect/auth-string",
		"OPENLINEAGE_API_KEY_FILE": "/run/secrets/openlineage/api-key", "LISTENER_HTTP_AUTH_FILE": "/run/secrets/http/auth",
		"OPENLINEAGE_CONFIG": "/etc/listener/openlineage.yml", "GOMEMLIMIT": "870MiB", "LISTENER_PARAMETERS": "true",
		"LISTENER_MAX_REQUESTS_PER_SECOND": "5", "LISTENER_HTTP_ADDR": ":8080",
	} {
		if variables[name] != value {
			t.Errorf("%s=%s, not %s", name, variables[name], value)
		}
	}
	if image := container.text("image"); !strings.HasSuffix(image, "@sha256:"+strings.Repeat("0", 64)) {
		t.Errorf("the image is %s", image)
	}
	if grace := fmt.Sprint(pod.at("spec", "terminationGracePeriodSeconds")); grace != "60" {
		t.Errorf("the grace is %s s", grace)
	}
	claim := render(t, "--values", path(chart, "ci", "existing-claim-values.yaml"))
	set := kindOf(t, claim, "StatefulSet")
	if set.at("spec", "volumeClaimTemplates") != nil {
		t.Error("a claim is made beside the one that is there")
	}
	if replicas := fmt.Sprint(set.at("spec", "replicas")); replicas != "0" {
		t.Errorf("%s replicas, not 0", replicas)
	}
}

// TestChartRefuses gives the chart values that nobody can mean.
func TestChartRefuses(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		set  []string
		says string
	}{
		"two listeners on one store":     {[]string{"replicaCount=2"}, "replicaCount"},
		"a value that is none":           {[]string{"replicas=1"}, "replicas"},
		"one below":                      {[]string{"persistence.sise=1Gi"}, "sise"},
		"a secret in the settings":       {[]string{"settings.PREFECT_API_KEY=x"}, "settings.PREFECT_API_KEY is a secret"},
		"one with a free name":           {[]string{"settings.OPENLINEAGE__TRANSPORT__AUTH__API_KEY=x"}, "API_KEY is a secret"},
		"a setting with its own value":   {[]string{"settings.PREFECT_API_URL=http://x"}, "has a value of its own"},
		"a setting in small letters":     {[]string{"settings.log_level=x"}, "settings"},
		"a secret in a ConfigMap":        {[]string{"openlineage.config.transport.auth.apiKey=x"}, "holds a secret"},
		"one with another name":          {[]string{"openlineage.config.transport.config.sasl\\.password=x"}, "holds a secret"},
		"two openlineage.yml":            {[]string{"openlineage.config.transport.type=console", "openlineage.existingConfigSecret.name=x"}, "take one"},
		"less grace than the drain":      {[]string{"terminationGracePeriodSeconds=10"}, "terminationGracePeriodSeconds"},
		"a volume for several":           {[]string{"persistence.accessMode=ReadWriteMany"}, "accessMode"},
		"a digest that is none":          {[]string{"image.digest=latest"}, "digest"},
		"an address without its scheme":  {[]string{"prefect.apiUrl=prefect:4200"}, "apiUrl"},
		"a limit in Kubernetes' own way": {[]string{"goMemLimit=200Mi"}, "goMemLimit"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := []string{"template", "lineage", chart}
			for _, set := range test.set {
				args = append(args, "--set", set)
			}
			if _, errs, err := helm(t, args...); err == nil || !strings.Contains(errs, test.says) {
				t.Errorf("%v\n%s", err, errs)
			}
		})
	}
}

// TestChartNotes reads what people are told after an installation.
func TestChartNotes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		args []string
		want []string
		not  []string
	}{
		"plain": {
			[]string{"--values", path(chart, "ci", "plain-values.yaml")},
			[]string{"exec lineage-prefect-openlineage-listener-0 -- /usr/local/bin/listener status", "helm test lineage"},
			[]string{"WARNING"},
		},
		"nothing said": {
			[]string{"--set", "persistence.enabled=false"},
			[]string{"nothing says where Prefect is", "nothing says where events go", "the store is gone with the pod"}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, errs, err := helm(t, append([]string{"install", "lineage", chart, "--dry-run=client", "--disable-openapi-validation", "--namespace", "data"}, test.args...)...)
			if err != nil {
				t.Fatalf("%v\n%s", err, errs)
			}
			for _, text := range test.want {
				if !strings.Contains(out, text) {
					t.Errorf("it does not say %q:\n%s", text, out)
				}
			}
			for _, text := range test.not {
				if strings.Contains(out, text) {
					t.Errorf("it says %q", text)
				}
			}
		})
	}
}

// TestChartsPage holds the table of values in the chart's page to the values.
func TestChartsPage(t *testing.T) {
	t.Parallel()
	var values object
	if err := yaml.Unmarshal([]byte(read(t, chart, "values.yaml")), &values); err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	leaves("", values, there)
	told := map[string]bool{}
	for _, row := range docs.Read(t, path(chart, "README.md")).Section(t, "Values").Tables[0].Rows {
		for _, name := range docs.Spans(row[0]) {
			told[name] = true
		}
	}
	for name := range there {
		if !told[name] {
			t.Errorf("README.md does not tell of %s", name)
		}
	}
	for name := range told {
		if !there[name] {
			t.Errorf("README.md tells of %s, which is no value", name)
		}
	}
}

// bundles are values that belong together and are told of as one.
var bundles = []string{"resources", "probes", "podSecurityContext", "securityContext", "dashboard.labels"}

func leaves(prefix string, values map[string]any, into map[string]bool) {
	for key, value := range values {
		name := strings.TrimPrefix(prefix+"."+key, ".")
		if below, ok := asMap(value); ok && len(below) > 0 && !slices.Contains(bundles, name) {
			leaves(name, below, into)
			continue
		}
		into[name] = true
	}
}
