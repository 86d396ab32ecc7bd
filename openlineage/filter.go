package openlineage

import (
	"fmt"
	"regexp"
)

// Filter names jobs that nobody is to be told about. The zero Filter names none.
type Filter struct {
	exact   string
	pattern *regexp.Regexp
}

// ExactFilter names the job of this name, whatever its namespace.
func ExactFilter(name string) Filter { return Filter{exact: name} }

// RegexFilter names the jobs whose names begin with what the expression matches, as Python's re.match has it. The
// expression is in Python's form; the error says what of it cannot be done here.
func RegexFilter(expression string) (Filter, error) {
	translated, err := fromPython(expression)
	if err != nil {
		return Filter{}, err
	}
	pattern, err := regexp.Compile(`\A(?:` + translated + `)`)
	if err != nil {
		return Filter{}, fmt.Errorf("can't be read: %w", err)
	}
	return Filter{pattern: pattern}, nil
}

// Matches says whether the filter names a job.
func (f Filter) Matches(job string) bool {
	if f.pattern != nil {
		return f.pattern.MatchString(job)
	}
	return f.exact != "" && f.exact == job
}
