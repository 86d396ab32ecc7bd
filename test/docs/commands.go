package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Command is a command line that a page shows.
type Command struct {
	Page    string // from the root of the checkout
	Section string
	Line    string // without what stands behind a #
}

var (
	indented = regexp.MustCompile(`^ {4,}(\S.*)$`)
	comment  = regexp.MustCompile(`\s+# .*$`)
	shell    = []string{"sh", "bash", "shell", "console"}
)

// Pages are all pages for people under a folder, from there on.
func Pages(tb testing.TB, root string) []string {
	tb.Helper()
	var pages []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md", "deploy/*.md", "deploy/*/*.md", "deploy/*/*/*.md", "test/*.md", "test/*/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			tb.Fatal(err)
		}
		for _, path := range found {
			page, err := filepath.Rel(root, path)
			if err != nil {
				tb.Fatal(err)
			}
			pages = append(pages, page)
		}
	}
	return pages
}

// Commands are the command lines of a page: those in indented blocks and in fences of a shell. Lines that a backslash
// goes on are one.
func Commands(tb testing.TB, root, page string) []Command {
	tb.Helper()
	var all []Command
	add := func(section, line string) {
		if line = strings.TrimSpace(comment.ReplaceAllString(line, "")); line != "" && !strings.HasPrefix(line, "#") {
			all = append(all, Command{Page: page, Section: section, Line: line})
		}
	}
	for _, section := range Read(tb, filepath.Join(root, page)) {
		for _, line := range blocks(section.Text) {
			add(section.Heading, line)
		}
		for _, fence := range section.Fences {
			if slices.Contains(shell, fence.Language) {
				for line := range strings.SplitSeq(goneOn.ReplaceAllString(fence.Text, " "), "\n") {
					add(section.Heading, line)
				}
			}
		}
	}
	return all
}

// goneOn is the end of a line that the next one goes on with.
var goneOn = regexp.MustCompile(`\s*\\\n\s*`)

// blocks are the lines of indented blocks, which begin behind an empty line: others go on with a list's item.
func blocks(text string) []string {
	var lines []string
	inside := true
	for line := range strings.SplitSeq(goneOn.ReplaceAllString(text, " "), "\n") {
		match := indented.FindStringSubmatch(line)
		inside = strings.TrimSpace(line) == "" || inside && match != nil
		if inside && match != nil {
			lines = append(lines, match[1])
		}
	}
	return lines
}

// CIRuns says whether .ci/run has a line that holds a text.
func CIRuns(tb testing.TB, root, text string) bool {
	tb.Helper()
	script, err := os.ReadFile(filepath.Join(root, ".ci", "run"))
	if err != nil {
		tb.Fatal(err)
	}
	return slices.ContainsFunc(strings.Split(string(script), "\n"), func(line string) bool {
		return strings.HasSuffix(strings.TrimSpace(line), text)
	})
}
