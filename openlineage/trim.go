package openlineage

import (
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Trimmer takes what changes from run to run, such as a date, off the end of a dataset's name. The names are those of
// the OpenLineage Python client, whose release 1.54.0 brought them.
type Trimmer string

// The trimmers, in the order in which they are applied.
const (
	// KeyValueTrimmer takes off a last part of the form key=value.
	KeyValueTrimmer Trimmer = "KeyValueTrimmer"
	// DateTrimmer takes off a last part that is a date, with a time or without.
	DateTrimmer Trimmer = "DateTrimmer"
	// MultiDirDateTrimmer takes off last parts of the form yyyy/MM/dd or yyyy/MM.
	MultiDirDateTrimmer Trimmer = "MultiDirDateTrimmer"
	// YearMonthTrimmer takes off a last part of the form yyyyMM or yyyy-MM.
	YearMonthTrimmer Trimmer = "YearMonthTrimmer"
)

// Trimmers returns all trimmers in the order in which they are applied.
func Trimmers() []Trimmer {
	return []Trimmer{KeyValueTrimmer, DateTrimmer, MultiDirDateTrimmer, YearMonthTrimmer}
}

// trim returns the name without what the trimmer takes off. It never takes the only part.
func (t Trimmer) trim(name string) string {
	if t == MultiDirDateTrimmer {
		return trimFolders(name)
	}
	parts := strings.FieldsFunc(name, func(r rune) bool { return r == '/' })
	if len(parts) < 2 {
		return name
	}
	last := parts[len(parts)-1]
	var off bool
	switch t {
	case KeyValueTrimmer:
		off = strings.Count(last, "=") == 1
	case DateTrimmer:
		off = isDate(last)
	case YearMonthTrimmer:
		off = isYearMonth(last)
	case MultiDirDateTrimmer: // above
	}
	if off {
		return cutParts(name, 1)
	}
	return name
}

// cutParts takes the last n parts off. Between them stands one slash each; what two would enclose is a part too.
func cutParts(name string, n int) string {
	name = strings.TrimRight(name, "/")
	for range n {
		i := strings.LastIndexByte(name, '/')
		if i < 0 {
			break
		}
		name = name[:i]
	}
	return name
}

func trimFolders(name string) string {
	parts := strings.Split(strings.Trim(name, "/"), "/")
	n := len(parts)
	switch {
	case n >= 4 && isFolderDate(parts[n-3], parts[n-2], parts[n-1]):
		return cutParts(name, 3)
	case n >= 3 && isFolderDate(parts[n-2], parts[n-1], "1"):
		return cutParts(name, 2)
	default:
		return name
	}
}

var (
	yearPart  = regexp.MustCompile(`^[0-9]{4}$`)
	monthPart = regexp.MustCompile(`^(?:0?[1-9]|1[0-2])$`)
	dayPart   = regexp.MustCompile(`^(?:[0 ]?[1-9]|[12][0-9]|3[01])$`)
)

// isFolderDate says whether three parts are a date: month and day may have one digit.
func isFolderDate(year, month, day string) bool {
	if !yearPart.MatchString(year) || !monthPart.MatchString(month) || !dayPart.MatchString(day) {
		return false
	}
	return isDay(year, month, strings.TrimSpace(day))
}

// isDay says whether there is such a day. The year 0 is none, as in Python.
func isDay(year, month, day string) bool {
	y, yErr := strconv.Atoi(year)
	m, mErr := strconv.Atoi(month)
	d, dErr := strconv.Atoi(day)
	if yErr != nil || mErr != nil || dErr != nil || y == 0 || m == 0 || d == 0 {
		return false
	}
	at := time.Date(y, time.Month(m), d, 0, 0, 0, 0, time.UTC)
	return at.Month() == time.Month(m) && at.Day() == d
}

// dates are the forms of a date in a part, with the places of year, month and day.
var dates = []struct {
	look             *regexp.Regexp
	year, month, day int
}{
	{regexp.MustCompile(`([0-9]{4})-([0-9]{2})-([0-9]{2})`), 1, 2, 3},
	{regexp.MustCompile(`([0-9]{2})\.([0-9]{2})\.([0-9]{4})`), 3, 2, 1},
	{regexp.MustCompile(`([0-9]{4})([0-9]{2})([0-9]{2})`), 1, 2, 3},
}

// isDate says whether a part holds a date and nothing else but what times are written with.
func isDate(part string) bool {
	for _, form := range dates {
		for _, m := range form.look.FindAllStringSubmatch(part, -1) {
			if !isDay(m[form.year], m[form.month], m[form.day]) {
				continue
			}
			if strings.IndexFunc(strings.Replace(part, m[0], "", 1), notOfTime) < 0 {
				return true
			}
		}
	}
	return false
}

func notOfTime(r rune) bool {
	return !strings.ContainsRune("TZ:.-\x1c\x1d\x1e\x1f", r) && !unicode.IsSpace(r) && !unicode.IsDigit(r)
}

var yearMonth = regexp.MustCompile(`^([0-9]{4})-?([0-9]{2})$`)

func isYearMonth(part string) bool {
	m := yearMonth.FindStringSubmatch(part)
	return m != nil && isDay(m[1], m[2], "1")
}
