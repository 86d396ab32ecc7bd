package main

import (
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/prefect-openlineage/listener/test/docs"
)

const (
	readme   = "../../README.md"
	allPages = "../../docs/index.md"
)

// guides are all pages for people.
func guides(t *testing.T) []string {
	t.Helper()
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatal("there are no guides: ", err)
	}
	return append(append(pages, kindGuides(t)...), readme, "../../CONTRIBUTING.md", "../../test/cases.md", "../../test/oracle/README.md")
}

// kindGuides are the pages on one kind of transport each.
func kindGuides(t *testing.T) []string {
	t.Helper()
	pages, err := filepath.Glob("../../docs/transports/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatal("there are no pages on kinds of transports: ", err)
	}
	return pages
}

var (
	link      = regexp.MustCompile(`\]\(([^)#:]*)(#[^)]*)?\)`)
	notAnchor = regexp.MustCompile(`[^a-z0-9_ -]`)
)

// Every link from the guides and to them leads to a file, and to a heading where it names one.
func TestTheGuidesLinks(t *testing.T) {
	t.Parallel()
	for _, page := range guides(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, to := range link.FindAllStringSubmatch(string(text), -1) {
			target := page
			if to[1] != "" {
				target = filepath.Join(filepath.Dir(page), to[1])
			}
			if !leads(t, target, to[2]) {
				t.Errorf("%s: there is no %s%s", filepath.Base(page), to[1], to[2])
			}
		}
	}
}

func leads(t *testing.T, target, anchor string) bool {
	t.Helper()
	if anchor == "" {
		_, err := os.Stat(target)
		return err == nil
	}
	return slices.ContainsFunc(docs.Read(t, target), func(s docs.Section) bool {
		return anchor == "#"+strings.ReplaceAll(notAnchor.ReplaceAllString(strings.ToLower(s.Heading), ""), " ", "-")
	})
}

// Whoever begins with the README finds every page, by way of the list of all if need be; those on kinds of transports by
// way of transports.md, and by the list.
func TestTheReadmeLeadsToEveryGuide(t *testing.T) {
	t.Parallel()
	links := func(from, to string) bool {
		text, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Contains(string(text), "]("+to+")")
	}
	ofKinds := kindGuides(t)
	for _, page := range guides(t) {
		if path := strings.TrimPrefix(page, "../../"); page != readme && !slices.Contains(ofKinds, page) && !links(readme, path) && !links(allPages, fromDocs(path)) {
			t.Errorf("neither the README nor docs/index.md has a link to %s", path)
		}
	}
	for _, page := range ofKinds {
		if path := strings.TrimPrefix(page, "../../docs/"); !links(transportsGuide, path) || !links(allPages, path) {
			t.Errorf("transports.md or index.md has no link to %s", path)
		}
	}
}

// fromDocs is the path of a page as pages in docs write it.
func fromDocs(path string) string {
	if inDocs, ok := strings.CutPrefix(path, "docs/"); ok {
		return inDocs
	}
	return "../" + path
}

// tried are the examples that tests try, by page and heading. Those of settings.md, transports.md and the pages on kinds
// are all tried by TestTheGuidesExamples, and those in Python run on a real Prefect, in test/e2e and test/parents.
var tried = map[string]map[string][]string{
	"README.md": {
		"Say what a task reads and writes": {"python"}, // TestTheReadmesFlowIsTheGuides
	},
	"datasets.md": {
		"Attach datasets": {"python", "json"}, "Forms of a table": {"python", "json"}, "DATASET_MAP": {"yaml", "env"},
		// TestTheGuideOnDatasetsKeys
		"Columns": {"json", "json", "json", "json", "json", "json"}, "Description and owners": {"json", "json"},
		"Rows, bytes and files": {"json", "json"}, "Version and lifecycle": {"json", "json", "json", "json"},
		"Other names of the same data": {"json", "json"}, "Column lineage": {"json", "json"}, "Assertions": {"json", "json"},
		"Any facet": {"json", "json"},
	},
	// test/deploy
	"deploying.md": {
		"Docker Compose": {"sh", "sh"}, "The image": {"sh"}, "Helm": {"sh", "sh", "yaml", "sh"}, "Kubernetes manifests": {"sh", "sh"},
		"Look before it runs": {"sh"}, "Beside a Prefect server": {"sh"}, "systemd": {"sh", "ini", "sh"}, "Metrics and alerts": {"yaml"},
	},
	"architecture.md": {"Architecture": {"text"}}, // a picture
	"events.md":       {"An example": {"json"}},   // in adapter
	"migrating.md": {
		"From openlineage-prefect": {"env"}, "Keep the jobs and runs that you have": {"env"}, "Side by side": {"env", "env"},
		"From prefect-datahub": {"env"}, "In the flow": {"python", "json"},
	},
	"parents.md": {
		"A flow run that something else started":   {"python"},
		"dbt, Spark and others that a flow starts": {"python", "python"},
	},
	"policy.md": {"Rules": {"json"}}, // in internal/config
}

// Every example of the guides is one that a test tries.
func TestTheGuidesHaveNoOtherExample(t *testing.T) {
	t.Parallel()
	for _, page := range guides(t) {
		name := strings.TrimPrefix(page, "../../")
		if page == settingsGuide || page == transportsGuide || slices.Contains(kindGuides(t), page) || name == "test/oracle/README.md" {
			continue
		}
		found := map[string][]string{}
		for _, section := range docs.Read(t, page) {
			for _, fence := range section.Fences {
				found[section.Heading] = append(found[section.Heading], fence.Language)
			}
		}
		if known := tried[filepath.Base(page)]; len(found)+len(known) > 0 && !reflect.DeepEqual(known, found) {
			t.Errorf("%s: examples in %v, of which %v are tried", name, found, known)
		}
	}
}

// The README's flow is one that runs on a real Prefect.
func TestTheReadmesFlowIsTheGuides(t *testing.T) {
	t.Parallel()
	guide := docs.Read(t, datasetsGuide).Section(t, "Attach datasets").Fences[0]
	equal(t, guide.Text, docs.Read(t, readme).Section(t, "Say what a task reads and writes").Fences[0].Text)
}

// othersVariables are variables that the guides name and that belong to others.
var othersVariables = []string{
	"PREFECT_SERVER_API_AUTH_STRING", "OPENLINEAGE_CONTEXT", "OPENLINEAGE_PARENT_ID", "OPENLINEAGE_ROOT_PARENT_ID", "PREFECT_EXPERIMENTAL_ENABLE_TASK_SCHEDULING",
}

var fixedName = regexp.MustCompile(`^(PREFECT|OPENLINEAGE|LISTENER)_[A-Z]+(_[A-Z]+)*$`)

// No guide speaks of a variable that is none.
func TestTheGuidesNameNoOtherVariable(t *testing.T) {
	t.Parallel()
	known := append(knownVariables(), othersVariables...)
	for _, page := range guides(t) {
		for _, section := range docs.Read(t, page) {
			for _, span := range docs.Spans(section.Text) {
				name, _, _ := strings.Cut(span, "=")
				if fixedName.MatchString(name) && !slices.Contains(known, name) {
					t.Errorf("%s, %s: %s is no variable", filepath.Base(page), section.Heading, name)
				}
			}
		}
	}
}

var (
	commandLine = regexp.MustCompile(`(?m)^    (?:bin/)?(listener(?: .*)?|make .*)$`)
	targetLine  = regexp.MustCompile(`(?m)^([a-z-]+):`)
)

// Every command that the guides and the help show can be called so.
func TestTheGuidesCommands(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	targets := map[string]bool{}
	for _, target := range targetLine.FindAllStringSubmatch(string(text), -1) {
		targets[target[1]] = true
	}
	seen := 0
	try := func(page, line string) {
		line, _, _ = strings.Cut(line, " #")
		words := strings.Fields(line)
		switch words[0] {
		case "make":
			if seen++; len(words) < 2 || !targets[words[1]] {
				t.Errorf("%s: %q: the Makefile has no such target", page, line)
			}
		case "listener":
			seen++
			if err := parses(words[1:]); err != nil {
				t.Errorf("%s: %q: %v", page, line, err)
			}
		}
	}
	for _, page := range guides(t) {
		for _, section := range docs.Read(t, page) {
			lines := docs.Spans(section.Text)
			for _, match := range commandLine.FindAllStringSubmatch(section.Text, -1) {
				lines = append(lines, match[1])
			}
			for _, table := range section.Tables {
				for _, row := range table.Rows {
					lines = append(lines, docs.Spans(strings.Join(row, " "))...)
				}
			}
			for _, line := range lines {
				if strings.TrimSpace(line) != "" {
					try(filepath.Base(page), line)
				}
			}
		}
	}
	for line := range strings.SplitSeq(description, "\n") {
		if example, ok := strings.CutPrefix(line, "  "); ok {
			_, command, _ := strings.Cut(example, "listener")
			try("help", "listener"+command)
		}
	}
	if seen < 30 {
		t.Errorf("only %d commands were found", seen)
	}
}

// parses says whether the command line takes words, in which ID stands for a number.
func parses(words []string) error {
	for i, word := range words {
		if word == "ID" {
			words[i] = "7"
		}
	}
	helped := false
	parser, err := kong.New(&cli{}, kong.Exit(func(int) { helped = true }), kong.Writers(io.Discard, io.Discard))
	if err != nil {
		return err
	}
	if _, err = parser.Parse(words); helped {
		return nil
	}
	return err
}
