// Package docs reads the guides as tests need them: their sections with tables and examples, so that what they say can
// be compared with what the program does. It knows as much of Markdown as the guides use.
package docs

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// Section is what stands under one heading, up to the next of any level.
type Section struct {
	Heading string // without backticks
	Level   int    // 1 is the page's title
	Text    string // what is neither table nor fence
	Tables  []Table
	Fences  []Fence
}

// Table is a table with its cells as they are written, trimmed.
type Table struct {
	Columns []string
	Rows    [][]string
}

// Fence is an example between three backticks.
type Fence struct {
	Language string // the word behind the backticks
	Text     string
	Line     int // in the page, of its first backticks
}

// Page is a guide.
type Page []Section

// Read returns a page's sections, in order.
func Read(tb testing.TB, path string) Page {
	tb.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	page, err := Parse(string(content))
	if err != nil {
		tb.Fatalf("%s: %v", path, err)
	}
	return page
}

// Section returns the one under a heading.
func (p Page) Section(tb testing.TB, heading string) Section {
	tb.Helper()
	for _, s := range p {
		if s.Heading == heading {
			return s
		}
	}
	tb.Fatalf("there is no section %q", heading)
	return Section{}
}

// Parse reads a page. A fence that does not end, and a row whose cells do not fit its table, are errors.
func Parse(text string) (Page, error) {
	r := reader{page: Page{{}}}
	for i, line := range strings.Split(text, "\n") {
		if err := r.line(line, i+1); err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
	}
	if r.fence != nil {
		return nil, fmt.Errorf("line %d: the fence does not end", r.fence.Line)
	}
	return r.page[1:], nil // before the title there is nothing
}

// reader goes through a page line by line.
type reader struct {
	page  Page
	fence *Fence // the open one
	table bool   // the last line was a table's
}

func (r *reader) line(line string, number int) error {
	at := &r.page[len(r.page)-1]
	mark, isFence := strings.CutPrefix(line, "```")
	switch {
	case r.fence != nil && isFence:
		at.Fences = append(at.Fences, *r.fence)
		r.fence = nil
	case r.fence != nil:
		r.fence.Text += line + "\n"
	case isFence:
		r.fence = &Fence{Language: strings.TrimSpace(mark), Line: number}
	case strings.HasPrefix(line, "#"):
		heading := strings.TrimLeft(line, "#")
		r.page = append(r.page, Section{
			Heading: strings.ReplaceAll(strings.TrimSpace(heading), "`", ""), Level: len(line) - len(heading),
		})
	case strings.HasPrefix(line, "|"):
		return r.row(at, line)
	default:
		at.Text += line + "\n"
	}
	r.table = false
	return nil
}

func (r *reader) row(at *Section, line string) error {
	cells := strings.Split(strings.Trim(line, "|"), "|")
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	if !r.table {
		r.table = true
		at.Tables = append(at.Tables, Table{Columns: cells})
		return nil
	}
	table := &at.Tables[len(at.Tables)-1]
	if len(cells) != len(table.Columns) {
		return fmt.Errorf("a row of %d cells in a table of %d", len(cells), len(table.Columns))
	}
	if strings.Trim(strings.Join(cells, ""), "-: ") != "" {
		table.Rows = append(table.Rows, cells)
	}
	return nil
}

var span = regexp.MustCompile("`([^`]+)`")

// Spans returns what stands between single backticks.
func Spans(text string) []string {
	var spans []string
	for _, match := range span.FindAllStringSubmatch(text, -1) {
		spans = append(spans, match[1])
	}
	return spans
}
