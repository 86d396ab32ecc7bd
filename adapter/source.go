package adapter

import (
	"encoding/json"
	"net/url"
	"path"
	"regexp"
	"strings"

	"github.com/prefect-openlineage/listener/openlineage"
	"github.com/prefect-openlineage/listener/prefect"
)

// sourceCode says where a deployment's code is kept, if its pull steps clone a git repository. The last clone counts:
// the entrypoint lies in it.
func sourceCode(d prefect.Deployment) (openlineage.SourceCodeLocationJobFacet, bool) {
	var clone gitClone
	var repository *url.URL
	folder, inside := "", true // where the entrypoint's path begins, and whether that lies in the repository
	for _, step := range d.PullSteps {
		function, inputs := pullStep(step)
		switch {
		case strings.HasPrefix(strings.TrimPrefix(function, "a"), "git_clone"):
			var c gitClone
			if json.Unmarshal(inputs, &c) != nil {
				continue
			}
			if u, ok := repositoryURL(c.Repository); ok {
				clone, repository, folder, inside = c, u, "", true
			}
		case function == "set_working_directory":
			folder, inside = workingFolder(inputs)
		}
	}
	if repository == nil {
		return openlineage.SourceCodeLocationJobFacet{}, false
	}
	facet := openlineage.SourceCodeLocationJobFacet{
		Type: "git", RepoURL: repository.String(), Version: literal(clone.CommitSHA), Branch: literal(clone.Branch),
	}
	if inside {
		facet.Path = entrypointFile(folder, d.Entrypoint)
	}
	facet.URL = codePage(repository, facet)
	if len(facet.URL) > openlineage.MaxLocationChars {
		facet.URL = facet.RepoURL // a page deep in a tree; the path says where
	}
	return facet, len(facet.URL) <= openlineage.MaxLocationChars
}

// gitClone holds the inputs of Prefect's git_clone step that say what is cloned; its credentials are not read.
type gitClone struct {
	Repository string `json:"repository"`
	Branch     string `json:"branch"`
	CommitSHA  string `json:"commit_sha"`
}

// pullStep reads one pull step, an object of one function's dotted name and its inputs, and returns the function's own
// name.
func pullStep(raw json.RawMessage) (function string, inputs json.RawMessage) {
	var step map[string]json.RawMessage
	if json.Unmarshal(raw, &step) != nil || len(step) != 1 {
		return "", nil
	}
	for name, inputs := range step {
		return name[strings.LastIndexByte(name, '.')+1:], inputs
	}
	return "", nil
}

// cloneFolder is how a step names a folder in what an earlier step cloned: {{ clone-step.directory }}/flows.
var cloneFolder = regexp.MustCompile(`^\{\{\s*[\w-]+\.directory\s*\}\}(?:/([^{]*))?$`)

// workingFolder returns the folder in the repository to which a set_working_directory step changes, false if it may lie
// anywhere.
func workingFolder(inputs json.RawMessage) (string, bool) {
	var step struct {
		Directory string `json:"directory"`
	}
	if json.Unmarshal(inputs, &step) != nil {
		return "", false
	}
	m := cloneFolder.FindStringSubmatch(strings.TrimSpace(step.Directory))
	if m == nil {
		return "", false
	}
	return m[1], true
}

// scpForm is git's short form of an SSH address. A single letter before the colon is a drive of Windows.
var scpForm = regexp.MustCompile(`^(?:[^@/\s]+@)?([^:/@\s]{2,}):([^/\s][^\s]*)$`)

// repositoryURL returns the address of a repository without credentials. A template that Prefect fills in only when it
// runs the step is no address, unless it stands for the credentials alone.
func repositoryURL(repository string) (*url.URL, bool) {
	repository = strings.TrimSpace(repository)
	if m := scpForm.FindStringSubmatch(repository); m != nil {
		repository = "ssh://" + m[1] + "/" + m[2]
	}
	repository = literal(openlineage.MaskURI(repository))
	u, err := url.Parse(repository)
	if err != nil || u.Host == "" {
		return nil, false
	}
	switch u.Scheme {
	case "http", "https", "ssh", "git":
		bare := &url.URL{Scheme: u.Scheme, Host: u.Host, Path: strings.TrimRight(u.Path, "/")}
		return bare, openlineage.IsURI(bare.String())
	default:
		return nil, false
	}
}

// literal returns the text, empty if it holds a template.
func literal(text string) string {
	if strings.Contains(text, "{{") {
		return ""
	}
	return strings.TrimSpace(text)
}

// entrypointFile returns the file of an entrypoint such as flows/etl.py:main, as a path in the repository. An entrypoint
// can also be a module's name, which says nothing of the file.
func entrypointFile(folder string, entrypoint *string) string {
	if entrypoint == nil {
		return ""
	}
	file, _, ok := cutLast(strings.ReplaceAll(strings.TrimSpace(*entrypoint), `\`, "/"), ":")
	if !ok || !strings.HasSuffix(file, ".py") || strings.HasPrefix(file, "/") || strings.Contains(file, ":") {
		return ""
	}
	file = path.Join(folder, file)
	if strings.HasPrefix(file, "../") {
		return ""
	}
	return file
}
