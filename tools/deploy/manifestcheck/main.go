// Command manifestcheck reads Kubernetes objects from standard input, as YAML documents, and decodes each strictly into
// Kubernetes' own Go types: a key that the type does not have, and a key that stands twice, is an error. It is a module of
// its own, so that what it needs does not become the listener's.
package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/yaml"
)

func main() {
	told, err := check(os.Stdin)
	for _, line := range told {
		fmt.Println(line)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// check returns kind and name of every object, and all that is wrong.
func check(from io.Reader) (told []string, err error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		core.AddToScheme, apps.AddToScheme, policy.AddToScheme, networking.AddToScheme, monitoring.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	documents := yaml.NewYAMLReader(bufio.NewReader(from))
	var wrong []error
	for number := 1; ; number++ {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return told, errors.Join(append(wrong, err)...)
		}
		if blank(document) {
			continue
		}
		object, kind, err := decoder.Decode(document, nil, nil)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("document %d: %w", number, err))
			continue
		}
		about, err := object.(meta.ObjectMetaAccessor), error(nil)
		name := kind.Kind + " " + about.GetObjectMeta().GetName()
		told = append(told, name)
		if err = names(kind.Kind, about.GetObjectMeta()); err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", name, err))
		}
	}
	return told, errors.Join(wrong...)
}

// names holds an object's name, labels and annotations to Kubernetes' rules for them.
func names(kind string, about meta.Object) error {
	rule := validation.NameIsDNSSubdomain
	if kind == "Service" || kind == "Namespace" || kind == "StatefulSet" { // a StatefulSet's becomes a host's name
		rule = validation.NameIsDNSLabel
	}
	problems := validation.ValidateObjectMetaAccessor(about, kind != "Namespace" && about.GetNamespace() != "", rule, field.NewPath("metadata"))
	return problems.ToAggregate()
}

func blank(document []byte) bool {
	for line := range bytes.Lines(document) {
		text := strings.TrimSpace(string(line))
		if text != "" && text != "---" && !strings.HasPrefix(text, "#") {
			return false
		}
	}
	return true
}
