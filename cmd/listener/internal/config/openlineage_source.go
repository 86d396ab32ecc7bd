package config

import (
	"bufio"
	"bytes"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/prefect-openlineage/listener/openlineage"
)

// sourceCodeLocation reads where the code is of jobs that say nothing of it. What is not set is read from the git
// repository that the listener was started in, as the Python client does.
func (l *loader) sourceCodeLocation(section *node) {
	if !l.onlyKeys(section, locationKeys) ||
		l.yes(section.get("disabled"), true) {
		return
	}
	location := openlineage.SourceCodeLocationJobFacet{Type: "git"}
	repository := l.repository()
	for _, part := range []struct {
		key  string
		into *string
		git  func() string
	}{
		{"repo_url", &location.RepoURL, repository.origin},
		{"version", &location.Version, repository.commit},
		{"branch", &location.Branch, repository.branch},
		{"tag", &location.Tag, repository.tag},
		{"pull_request_number", &location.PullRequestNumber, l.pullRequest},
	} {
		text, set := textOf(section.get(part.key))
		if !set {
			text = part.git()
		}
		*part.into = text
	}
	location.RepoURL = openlineage.MaskURI(location.RepoURL)
	if location.RepoURL == "" {
		l.warn(section.origin.Where(), "has no effect: there is no repo_url, and no git repository with a remote named origin in %s", l.in.Dir)
		return
	}
	if utf8.RuneCountInString(location.RepoURL) > openlineage.MaxLocationChars {
		// Marquez refuses every event that holds one.
		l.warn(section.origin.Where(), "has no effect: the repository's address is longer than %d characters; set a shorter one as repo_url",
			openlineage.MaxLocationChars)
		return
	}
	location.URL = location.RepoURL
	l.cfg.OpenLineage.Additions.Location = &location
}

var pullRequestRef = regexp.MustCompile(`^refs/pull/(\d+)/(?:merge|head)`)

// pullRequest is the number that a CI system gives its job.
func (l *loader) pullRequest() string {
	for _, name := range []string{
		"CI_MERGE_REQUEST_IID", "BITBUCKET_PR_ID", "SYSTEM_PULLREQUEST_PULLREQUESTNUMBER", "SYSTEM_PULLREQUEST_PULLREQUESTID",
	} {
		if l.set[name] != "" {
			return l.set[name]
		}
	}
	if m := pullRequestRef.FindStringSubmatch(l.set["GITHUB_REF"]); m != nil {
		return m[1]
	}
	return ""
}

// repository reads what git keeps in files. Empty texts mean that there is no repository or that it does not say.
type repository struct {
	files  fs.FS
	folder string // .git, or what a worktree's file of that name leads to
}

// maxGitFile bounds what is read of one of git's files.
const maxGitFile = 16 << 20

// repository finds the one that the working folder is in.
func (l *loader) repository() repository {
	r := repository{files: l.in.Files}
	if !path.IsAbs(l.in.Dir) {
		return r
	}
	for folder := path.Clean(l.in.Dir); ; folder = path.Dir(folder) {
		file := path.Join(folder, ".git")
		if info, err := fs.Stat(r.files, rooted(file)); err == nil {
			if info.IsDir() {
				r.folder = file
				return r
			}
			if to, ok := strings.CutPrefix(r.read(file), "gitdir: "); ok {
				if !path.IsAbs(to) {
					to = path.Join(folder, to)
				}
				r.folder = to
				return r
			}
		}
		if folder == "/" {
			return r
		}
	}
}

// read returns a file's content without the space around it, empty where it can't be read.
func (r repository) read(name string) string {
	content, err := readFile(r.files, name, maxGitFile)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(content))
}

// in returns a file of git's own.
func (r repository) in(name string) string {
	if r.folder == "" {
		return ""
	}
	return r.read(path.Join(r.folder, name))
}

var (
	gitSection = regexp.MustCompile(`^\[\s*remote\s+"origin"\s*\]`)
	gitURL     = regexp.MustCompile(`^\s*url\s*=\s*(.*?)\s*$`)
)

// origin is the address of the remote of that name.
func (r repository) origin() string {
	inside, url := false, ""
	for lines := bufio.NewScanner(strings.NewReader(r.in("config"))); lines.Scan(); {
		line := lines.Bytes()
		if trimmed := bytes.TrimSpace(line); bytes.HasPrefix(trimmed, []byte("[")) {
			inside = gitSection.Match(trimmed)
		} else if m := gitURL.FindSubmatch(line); inside && m != nil {
			url = string(m[1])
		}
	}
	return url
}

// branch is the one that is checked out.
func (r repository) branch() string {
	branch, ok := strings.CutPrefix(r.in("HEAD"), "ref: refs/heads/")
	if !ok {
		return ""
	}
	return branch
}

// commit is the one that is checked out.
func (r repository) commit() string {
	head := r.in("HEAD")
	ref, ok := strings.CutPrefix(head, "ref: ")
	if !ok {
		return head
	}
	if commit := r.in(ref); commit != "" {
		return commit
	}
	for line := range strings.SplitSeq(r.in("packed-refs"), "\n") {
		if commit, name, _ := strings.Cut(line, " "); name == ref && !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "^") {
			return commit
		}
	}
	return ""
}

// tag is one that names the commit: a file of its own, or a line among the packed ones, where the commit of an annotated
// tag stands on the next line.
func (r repository) tag() string {
	commit := r.commit()
	if commit == "" {
		return ""
	}
	folder := path.Join(r.folder, "refs", "tags")
	found := ""
	walk := func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && found == "" && r.read("/"+name) == commit {
			found = strings.TrimPrefix("/"+name, folder+"/")
		}
		return nil // what can't be read names nothing
	}
	if err := fs.WalkDir(r.files, rooted(folder), walk); err == nil && found != "" {
		return found
	}
	last := ""
	for line := range strings.SplitSeq(r.in("packed-refs"), "\n") {
		if of, peeled := strings.CutPrefix(line, "^"); peeled {
			if of == commit && last != "" {
				return last
			}
			continue
		}
		of, name, _ := strings.Cut(line, " ")
		last = ""
		if tag, ok := strings.CutPrefix(name, "refs/tags/"); ok && !strings.HasPrefix(line, "#") {
			if of == commit {
				return tag
			}
			last = tag
		}
	}
	return ""
}
