package deploy_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// manifests are what kubectl makes of a folder.
func manifests(t *testing.T, folder string) string {
	t.Helper()
	return output(t, command(installed(t, "kubectl"), "kustomize", path("deploy", "kubernetes", folder)))
}

func TestPlainManifests(t *testing.T) {
	t.Parallel()
	for folder, want := range map[string][]string{
		".":       {"ConfigMap", "ConfigMap", "Deployment", "Namespace", "PersistentVolumeClaim", "Service", "ServiceAccount"},
		"sidecar": {"Namespace", "Service", "StatefulSet"},
	} {
		t.Run(folder, func(t *testing.T) {
			t.Parallel()
			text := manifests(t, folder)
			var kinds []string
			for _, o := range checked(t, text) {
				kinds = append(kinds, o.text("kind"))
			}
			slices.Sort(kinds)
			if !slices.Equal(kinds, want) {
				t.Errorf("%v, not %v", kinds, want)
			}
		})
	}
}

// One listener at a time has the store: the old one ends before the new one begins.
func TestTheDeploymentIsRecreated(t *testing.T) {
	t.Parallel()
	for _, o := range objects(t, manifests(t, ".")) {
		if o.text("kind") == "Deployment" && (o.text("spec", "strategy", "type") != "Recreate" || fmt.Sprint(o.at("spec", "replicas")) != "1") {
			t.Errorf("strategy %v, replicas %v", o.at("spec", "strategy"), o.at("spec", "replicas"))
		}
	}
}

// checked holds objects to Kubernetes' own types and to each other, and returns them.
func checked(t *testing.T, text string) []object {
	t.Helper()
	cmd := command(tool(t, "manifestcheck"))
	cmd.Stdin = strings.NewReader(text)
	output(t, cmd)
	all := objects(t, text)
	for _, o := range all {
		name := o.text("kind") + " " + o.text("metadata", "name")
		if pod := podOf(o); pod != nil {
			for _, problem := range faults(pod) {
				t.Errorf("%s: %s", name, problem)
			}
			selects(t, name, o)
		}
		if kind := o.text("kind"); kind == "Service" || kind == "PodDisruptionBudget" || kind == "NetworkPolicy" {
			finds(t, name, o, all)
		}
	}
	return all
}

// podOf is the pod that an object makes; nil where it makes none.
func podOf(o object) object {
	switch o.text("kind") {
	case "Pod":
		return object{"metadata": o["metadata"], "spec": o["spec"], "claims": []any{}}
	case "Deployment", "StatefulSet":
		template, _ := asMap(o.at("spec", "template"))
		var claims []any
		for _, claim := range o.list("spec", "volumeClaimTemplates") {
			claims = append(claims, claim.text("metadata", "name"))
		}
		return object{"metadata": template["metadata"], "spec": template["spec"], "claims": claims}
	default:
		return nil
	}
}

// faults are what Kubernetes would refuse of a pod though its shape is right, and what is less than careful in it.
func faults(pod object) []string {
	var found []string
	fault := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	volumes := map[string]bool{}
	claims, _ := pod["claims"].([]any)
	for _, claim := range claims {
		volumes[claim.(string)] = true
	}
	for _, volume := range pod.list("spec", "volumes") {
		if volumes[volume.text("name")] {
			fault("volume %s stands twice", volume.text("name"))
		}
		volumes[volume.text("name")] = true
	}
	if pod.at("spec", "securityContext", "runAsNonRoot") != true || pod.text("spec", "securityContext", "seccompProfile", "type") != "RuntimeDefault" {
		fault("it may run as root, or without seccomp")
	}
	for _, container := range pod.list("spec", "containers") {
		name := container.text("name")
		security, _ := asMap(container["securityContext"])
		if security["readOnlyRootFilesystem"] != true || security["allowPrivilegeEscalation"] != false ||
			fmt.Sprint(object(security).at("capabilities", "drop")) != "[ALL]" {
			fault("%s is not locked up: %v", name, security)
		}
		mounted := map[string]bool{}
		for _, mount := range container.list("volumeMounts") {
			if !volumes[mount.text("name")] {
				fault("%s mounts %s, which is not there", name, mount.text("name"))
			}
			if mounted[mount.text("mountPath")] {
				fault("%s mounts twice at %s", name, mount.text("mountPath"))
			}
			mounted[mount.text("mountPath")] = true
		}
		variables := map[string]bool{}
		for _, variable := range container.list("env") {
			if variables[variable.text("name")] {
				fault("%s sets %s twice", name, variable.text("name"))
			}
			variables[variable.text("name")] = true
			if file := variable.text("value"); strings.HasPrefix(file, "/run/secrets/") && !under(mounted, file) {
				fault("%s: %s=%s, where nothing is mounted", name, variable.text("name"), file)
			}
		}
		ports := map[any]bool{}
		for _, port := range container.list("ports") {
			ports[port["name"]] = true
		}
		for _, probe := range []string{"startupProbe", "livenessProbe", "readinessProbe"} {
			if port := container.at(probe, "httpGet", "port"); port != nil && !ports[port] {
				fault("%s: the %s asks at port %v, which has no name", name, probe, port)
			}
		}
	}
	return found
}

func under(mounted map[string]bool, file string) bool {
	return slices.ContainsFunc(slices.Collect(maps.Keys(mounted)), func(at string) bool { return strings.HasPrefix(file, at+"/") })
}

// selects looks whether a set of pods finds its own.
func selects(t *testing.T, name string, o object) {
	t.Helper()
	wanted, _ := asMap(o.at("spec", "selector", "matchLabels"))
	if o.text("kind") != "Pod" && (len(wanted) == 0 || !matches(wanted, o.at("spec", "template", "metadata", "labels"))) {
		t.Errorf("%s does not select its own pods", name)
	}
}

// finds looks whether what selects pods finds some, and a service's ports as well.
func finds(t *testing.T, name string, o object, all []object) {
	t.Helper()
	wanted, ok := asMap(o.at("spec", "selector", "matchLabels"))
	if !ok {
		wanted, ok = asMap(o.at("spec", "podSelector", "matchLabels"))
	}
	if !ok {
		wanted, _ = asMap(o.at("spec", "selector"))
	}
	found := false
	for _, other := range all {
		pod := podOf(other)
		if pod == nil || !matches(wanted, pod.at("metadata", "labels")) {
			continue
		}
		if other.text("kind") == "Pod" {
			t.Errorf("%s takes the pod %s for the listener", name, other.text("metadata", "name"))
			continue
		}
		ports := map[any]bool{}
		for _, container := range pod.list("spec", "containers") {
			for _, port := range container.list("ports") {
				ports[port["name"]] = true
			}
		}
		for _, port := range o.list("spec", "ports") {
			if !ports[port["targetPort"]] {
				t.Errorf("%s leads to port %v, which no pod has", name, port["targetPort"])
			}
		}
		found = true
	}
	if !found {
		t.Errorf("%s finds no pods: %v", name, wanted)
	}
}

func matches(wanted map[string]any, labels any) bool {
	have, _ := asMap(labels)
	for key, value := range wanted {
		if have[key] != value {
			return false
		}
	}
	return len(wanted) > 0
}
