package openlineage

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// fromPython writes a regular expression of Python's re module in the form of Go's regexp. Both take the leftmost
// alternative first, so the translation matches the same texts. What differs is spelt out: Python's classes know all of
// Unicode, its $ matches before a last line end too, and {,n} is a repetition. What Go's engine cannot do (it looks
// neither ahead nor back) is an error. \b alone stays as Go has it: it takes only ASCII letters for letters.
func fromPython(expression string) (string, error) {
	p := pythonPattern{in: []rune(expression)}
	if err := p.alternatives(); err != nil {
		return "", err
	}
	if p.at < len(p.in) {
		return "", errors.New("has a ) that closes nothing")
	}
	return p.out.String(), nil
}

// pythonPattern is an expression on its way.
type pythonPattern struct {
	in    []rune
	at    int
	out   strings.Builder
	flags pythonFlags
	begun bool // something besides global flags was read
	place bool // what was read last is a place, such as ^, which nothing repeats
}

// pythonFlags are those that this translation acts on by itself; i and s are Go's too.
type pythonFlags struct {
	ascii bool // (?a): the classes know ASCII alone
	lines bool // (?m): ^ and $ match at every line
}

func (p *pythonPattern) next() (rune, bool) {
	if p.at >= len(p.in) {
		return 0, false
	}
	r := p.in[p.at]
	p.at++
	return r, true
}

func (p *pythonPattern) sees(text string) bool {
	return strings.HasPrefix(string(p.in[p.at:min(len(p.in), p.at+len(text))]), text)
}

func (p *pythonPattern) take(text string) bool {
	if !p.sees(text) {
		return false
	}
	p.at += len([]rune(text))
	return true
}

func (p *pythonPattern) literal(r rune) { p.out.WriteString(regexp.QuoteMeta(string(r))) }

// alternatives reads up to the end or to a ) that it leaves.
func (p *pythonPattern) alternatives() error {
	for p.at < len(p.in) && p.in[p.at] != ')' {
		if err := p.item(); err != nil {
			return err
		}
	}
	return nil
}

func (p *pythonPattern) item() error {
	r, _ := p.next()
	if r != '(' {
		p.begun = true
	}
	if r == '(' { // a comment changes nothing
		return p.group()
	}
	before := p.place
	p.place = false
	switch r {
	case '[':
		return p.class()
	case '\\':
		return p.escape()
	case '^':
		p.anchor(`\A`, `(?m:^)`)
	case '$':
		p.anchor(`(?:\n?\z)`, `(?m:$)`)
	case '{':
		return p.braces(before)
	case '*', '+', '?':
		p.out.WriteRune(r)
		return p.greed(before)
	case '.', '|':
		p.out.WriteRune(r)
	default:
		p.literal(r)
	}
	return nil
}

// anchor writes a place in the whole text, or in every line.
func (p *pythonPattern) anchor(text, line string) {
	if p.flags.lines {
		text = line
	}
	p.out.WriteString(text)
	p.place = true
}

// greed reads what may follow a repetition. Place: what it repeats is one.
func (p *pythonPattern) greed(place bool) error {
	switch {
	case place:
		return errors.New("repeats a place, which has no length")
	case p.take("+"):
		return errors.New("uses a possessive repetition, which can't be done here")
	case p.take("?"):
		p.out.WriteByte('?')
	}
	return nil
}

// repetition are the forms of {m,n}; any other brace is itself.
var repetition = regexp.MustCompile(`^(\d+)?(?:(,)(\d+)?)?\}`)

func (p *pythonPattern) braces(place bool) error {
	m := repetition.FindStringSubmatch(string(p.in[p.at:]))
	if m == nil || m[0] == "}" {
		p.literal('{')
		return nil
	}
	p.at += len([]rune(m[0]))
	least, most := m[1], m[3]
	if least == "" {
		least = "0"
	}
	if m[2] == "" {
		fmt.Fprintf(&p.out, "{%s}", least)
	} else {
		fmt.Fprintf(&p.out, "{%s,%s}", least, most)
	}
	return p.greed(place)
}

// group reads what follows a parenthesis. No group is kept: nothing refers to one.
func (p *pythonPattern) group() error {
	if !p.take("?") {
		p.begun = true
		return p.inside("(?:", p.flags)
	}
	for _, form := range []struct{ begin, word string }{
		{"=", "looks ahead"}, {"!", "looks ahead"}, {"<=", "looks back"}, {"<!", "looks back"},
		{"P=", "refers back to a group"}, {"(", "depends on a group"}, {">", "uses an atomic group"},
	} {
		if p.take(form.begin) {
			return errors.New(form.word + ", which can't be done here")
		}
	}
	switch {
	case p.take("#"):
		for r, more := p.next(); r != ')'; r, more = p.next() {
			if !more {
				return errors.New("has a comment without an end")
			}
		}
		return nil
	case p.take(":"):
		p.begun = true
		return p.inside("(?:", p.flags)
	case p.take("P<"):
		p.begun = true
		for r, more := p.next(); r != '>'; r, more = p.next() {
			if !more || r == ')' {
				return errors.New("has a group whose name has no end")
			}
		}
		return p.inside("(?:", p.flags)
	default:
		return p.switches()
	}
}

func (p *pythonPattern) inside(begin string, flags pythonFlags) error {
	outer := p.flags
	p.flags, p.place = flags, false
	p.out.WriteString(begin)
	if err := p.alternatives(); err != nil {
		return err
	}
	if !p.take(")") {
		return errors.New("has a ( that nothing closes")
	}
	p.out.WriteByte(')')
	p.flags, p.place = outer, false
	return nil
}

// switches reads (?im), for the whole expression, and (?i-s:...).
func (p *pythonPattern) switches() error {
	flags, on := p.flags, true
	var goOn, goOff string
	for {
		r, more := p.next()
		switch {
		case !more:
			return errors.New("has switches without an end")
		case r == ')':
			if p.begun || !on {
				return errors.New("has switches for all of it that don't stand at its beginning, or that switch off")
			}
			p.flags = flags
			if goOn != "" {
				p.out.WriteString("(?" + goOn + ")")
			}
			return nil
		case r == ':':
			p.begun = true
			if goOff != "" {
				goOff = "-" + goOff
			}
			return p.inside("(?"+goOn+goOff+":", flags)
		case r == '-' && on:
			on = false
		case (r == 'i' || r == 's') && on:
			goOn += string(r)
		case r == 'i' || r == 's':
			goOff += string(r)
		case r == 'm':
			flags.lines = on
		case r == 'a' && on:
			flags.ascii = true
		case r == 'u' && on:
			flags.ascii = false
		default:
			return fmt.Errorf("uses the switch %q, which can't be done here", r)
		}
	}
}

// escape reads what follows a backslash outside of a class.
func (p *pythonPattern) escape() error {
	if p.at >= len(p.in) {
		return errors.New("ends in a backslash")
	}
	switch r := p.in[p.at]; {
	case r == 'A', r == 'B', r == 'b':
		p.at++
		p.place = true
		p.out.WriteString(`\` + string(r))
	case r == 'Z':
		p.at++
		p.place = true
		p.out.WriteString(`\z`)
	case strings.ContainsRune("dDsSwW", r):
		p.at++
		p.out.WriteString("[" + p.flags.set(r) + "]")
	case r >= '1' && r <= '9' && !p.octal():
		return errors.New("refers back to a group, which can't be done here")
	default:
		c, err := p.character()
		if err != nil {
			return err
		}
		p.literal(c)
	}
	return nil
}

// octal says whether three octal digits follow, which name a character.
func (p *pythonPattern) octal() bool {
	digits := string(p.in[p.at:min(len(p.in), p.at+3)])
	_, err := strconv.ParseUint(digits, 8, 9)
	return len(digits) == 3 && err == nil
}
