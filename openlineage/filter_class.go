package openlineage

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"strconv"
	"strings"
)

// Python's classes over all of Unicode, as the inside of one of Go's: \d is a decimal digit, \w what str.isalnum takes
// and the underscore, \s what str.isspace takes.
const (
	pythonDigit = `\p{Nd}`
	pythonWord  = `\p{L}\p{N}_`
	pythonSpace = `\t-\r\x1c-\x20\x{85}\p{Z}`
)

// set returns one of Python's classes as the inside of one of Go's.
func (f pythonFlags) set(class rune) string {
	if f.ascii {
		return `\` + string(class)
	}
	switch class {
	case 'd':
		return pythonDigit
	case 'D':
		return `\P{Nd}`
	case 'w':
		return pythonWord
	case 'W':
		return complement(pythonWord)
	case 's':
		return pythonSpace
	default: // S
		return complement(pythonSpace)
	}
}

// complement returns all that is not in a class, which Go can't say inside of a class but by its ranges.
func complement(class string) string {
	parsed, err := syntax.Parse("[^"+class+"]", syntax.Perl)
	if err != nil { // the classes above are right
		return ""
	}
	var ranges strings.Builder
	for i := 0; i+1 < len(parsed.Rune); i += 2 {
		fmt.Fprintf(&ranges, `\x{%x}-\x{%x}`, parsed.Rune[i], parsed.Rune[i+1])
	}
	return ranges.String()
}

var errClassEnd = errors.New("has a [ that nothing closes")

// class reads a class in brackets, whose first sign may be a bracket that closes nothing.
func (p *pythonPattern) class() error {
	p.out.WriteByte('[')
	if p.take("^") {
		p.out.WriteByte('^')
	}
	for first := true; ; first = false {
		if !first && p.take("]") {
			p.out.WriteByte(']')
			return nil
		}
		low, set, err := p.classItem()
		if err != nil {
			return err
		}
		ranged := p.sees("-") && !p.sees("-]")
		switch {
		case set != "" && ranged && p.at+1 < len(p.in):
			return errors.New("has a range in brackets that begins with a class")
		case set != "":
			p.out.WriteString(set)
			continue
		case !ranged:
			writeClass(&p.out, low)
			continue
		}
		p.at++
		high, set, err := p.classItem()
		if err != nil {
			return err
		}
		if set != "" || high < low {
			return errors.New("has a range in brackets whose ends don't fit")
		}
		writeClass(&p.out, low)
		p.out.WriteByte('-')
		writeClass(&p.out, high)
	}
}

// classItem reads one character of a class, or the set that an escape stands for.
func (p *pythonPattern) classItem() (c rune, set string, err error) {
	r, more := p.next()
	switch {
	case !more:
		return 0, "", errClassEnd
	case r != '\\':
		return r, "", nil
	case p.at >= len(p.in):
		return 0, "", errClassEnd
	}
	switch r := p.in[p.at]; {
	case strings.ContainsRune("dDsSwW", r):
		p.at++
		return 0, p.flags.set(r), nil
	case r == 'b':
		p.at++
		return '\b', "", nil
	default:
		c, err = p.character()
		return c, "", err
	}
}

// writeClass writes a character so that it means itself inside brackets.
func writeClass(out *strings.Builder, c rune) { fmt.Fprintf(out, `\x{%x}`, c) }

// character reads the rest of an escape that stands for one character.
func (p *pythonPattern) character() (rune, error) {
	r, _ := p.next()
	simple := map[rune]rune{'a': '\a', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': '\v'}
	digits := map[rune]int{'x': 2, 'u': 4, 'U': 8}
	switch {
	case simple[r] != 0:
		return simple[r], nil
	case digits[r] != 0:
		return p.number(digits[r], 16)
	case r >= '0' && r <= '7':
		p.at--
		n := 0
		for n < 3 && p.at+n < len(p.in) && p.in[p.at+n] >= '0' && p.in[p.at+n] <= '7' {
			n++
		}
		return p.number(n, 8)
	case r == 'N':
		return 0, errors.New("names a character by its name, which can't be done here")
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
		return 0, fmt.Errorf(`has \%c, which means nothing`, r)
	default:
		return r, nil
	}
}

func (p *pythonPattern) number(digits, base int) (rune, error) {
	if p.at+digits > len(p.in) {
		return 0, errors.New("has an escape that is cut off")
	}
	n, err := strconv.ParseUint(string(p.in[p.at:p.at+digits]), base, 32)
	p.at += digits
	if err != nil || n > 0x10FFFF || (base == 8 && n > 0o377) {
		return 0, errors.New("has an escape that is no character")
	}
	return rune(n), nil
}
