package librdkafka

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prefect-openlineage/listener/transport/settings"
)

// topicPrefix begins properties of topics where they are given apart from the others, as older clients want it.
const topicPrefix = "default.topic.config."

// reader reads typed properties. What is wrong with one is left with the section.
type reader struct {
	s *settings.Section
	// written are the names as they stand in the settings, by their plain spelling.
	written map[string]string
	known   []string // the names that were looked for
	// clashes are the names of which it was said that they say otherwise than their alias.
	clashes map[string]bool
	// tokens: the caller brings tokens to log in with.
	tokens bool
}

// newReader takes the properties of a section under their plain names: in small letters, with dots where a variable's
// name has underscores or where maps stand inside each other.
func newReader(s *settings.Section) *reader {
	values := map[string]any{}
	r := &reader{written: map[string]string{}, clashes: map[string]bool{}}
	for _, key := range s.Keys() {
		r.take(s, values, key, s.Raw(key))
	}
	r.s = s.At(s.Path(), values)
	return r
}

// take lays one property down, or all below a map.
func (r *reader) take(s *settings.Section, values map[string]any, key string, value any) {
	if below, ok := value.(map[string]any); ok {
		for inner, one := range below {
			r.take(s, values, key+"."+inner, one)
		}
		return
	}
	if value == nil {
		return
	}
	name := strings.TrimPrefix(property(key), topicPrefix)
	if other, twice := r.written[name]; twice {
		s.Refuse(key, "is set twice: as "+min(other, key)+" and as "+max(other, key), "leave one of them out")
		return
	}
	r.written[name] = key
	if items, ok := value.([]any); ok {
		value = joined(items)
	}
	values[name] = value
}

// property is a name as librdkafka spells it. No property of a producer has an underscore in its name.
func property(key string) string { return strings.ReplaceAll(strings.ToLower(key), "_", ".") }

// joined makes of a list what librdkafka takes for one: its items with commas between.
func joined(items []any) any {
	texts := make([]string, len(items))
	for i, item := range items {
		text, ok := settings.Text(item)
		if !ok {
			return items // no list of texts; who reads it says so
		}
		texts[i] = text
	}
	return strings.Join(texts, ",")
}

// find returns the name under which a property or one of its aliases is set; "" is none. Two that say the same are fine.
func (r *reader) find(names ...string) string {
	found, value := "", any(nil)
	for _, name := range names {
		r.known = append(r.known, name)
		if !r.s.Has(name) {
			continue
		}
		one := r.s.Value(name)
		if found != "" && fmt.Sprint(one) != fmt.Sprint(value) && !r.clashes[name] {
			r.clashes[name] = true
			r.refuse(name, "says otherwise than "+found+", which means the same", "leave one of them out")
		}
		found, value = name, one
	}
	return found
}

// refuse names what is wrong with a property under the name that it has in the settings.
func (r *reader) refuse(name, problem, hint string) { r.s.Refuse(r.spelt(name), problem, hint) }

// warn does the same with what does not stop the start.
func (r *reader) warn(name, text string) { r.s.Warn(r.spelt(name), text) }

// spelt is a property's name as it stands in the settings.
func (r *reader) spelt(name string) string {
	if written, ok := r.written[strings.ToLower(name)]; ok {
		return written
	}
	return name
}

// text returns a property's value, trimmed; "" when it is unset.
func (r *reader) text(names ...string) string {
	if name := r.find(names...); name != "" {
		return r.s.String(name)
	}
	return ""
}

// secret returns a value as it is written, but for a line's end behind it, which editors put there.
func (r *reader) secret(name string) Secret {
	secret := Secret{File: r.text(name + "File")}
	if r.find(name) != "" {
		value, ok := settings.Text(r.s.Value(name))
		if !ok {
			r.refuse(name, "must be a text", "")
		}
		secret.Value = strings.TrimRight(value, "\r\n")
	}
	if secret.Value != "" && secret.File != "" {
		r.refuse(name, "stands beside "+name+"File", "set one of the two")
	}
	return secret
}

func (s Secret) empty() bool { return s.Value == "" && s.File == "" }

// whole returns a whole number within a range.
func (r *reader) whole(fallback, low, high int, names ...string) int {
	name := r.find(names...)
	if name == "" {
		return fallback
	}
	n, ok := settings.AsNumber(r.s.Value(name))
	if !ok || n != math.Trunc(n) || n < float64(low) || n > float64(high) {
		r.refuse(name, fmt.Sprintf("must be a whole number from %d to %d", low, high), "")
		return fallback
	}
	return int(n)
}

// millis returns a time that is given in milliseconds, which may have a fraction.
func (r *reader) millis(fallback time.Duration, low, high int, names ...string) time.Duration {
	name := r.find(names...)
	if name == "" {
		return fallback
	}
	n, ok := settings.AsNumber(r.s.Value(name))
	if !ok || n < float64(low) || n > float64(high) {
		r.refuse(name, fmt.Sprintf("must be a number of milliseconds from %d to %d", low, high), "")
		return fallback
	}
	return time.Duration(n * float64(time.Millisecond))
}

// flag returns a switch.
func (r *reader) flag(fallback bool, names ...string) bool {
	name := r.find(names...)
	if name == "" {
		return fallback
	}
	on, ok := settings.AsBool(r.s.Value(name))
	if !ok {
		switch strings.ToLower(r.s.String(name)) { // librdkafka takes the first letter too
		case "t":
			return true
		case "f":
			return false
		}
		r.refuse(name, "must be true or false", "")
		return fallback
	}
	return on
}

// choice returns one of a property's words, whatever its case. The first one is the default.
func (r *reader) choice(words []string, names ...string) string {
	name := r.find(names...)
	if name == "" {
		return words[0]
	}
	value := strings.ToLower(r.s.String(name))
	if !slices.Contains(words, value) {
		r.refuse(name, "is not known", "it takes "+strings.Join(words, ", "))
		return words[0]
	}
	return value
}

// refused names properties that cannot be honoured and must not be passed over.
func (r *reader) refused(problem, hint string, names ...string) {
	for _, name := range names {
		if r.find(name) != "" {
			r.refuse(name, problem, hint)
		}
	}
}

// rest says in one warning what has no effect: what librdkafka does not know and what means nothing here.
func (r *reader) rest() (unknown, ignored []string) {
	var hints []string
	for name, written := range r.written {
		switch {
		case slices.ContainsFunc(r.known, func(known string) bool { return strings.EqualFold(known, name) }):
		case withoutEffect[name]:
			ignored = append(ignored, written)
		default:
			unknown = append(unknown, written)
		}
	}
	slices.Sort(unknown)
	slices.Sort(ignored)
	for _, written := range unknown {
		if near := settings.Nearest(property(written), r.known); near != "" {
			hints = append(hints, fmt.Sprintf("%s looks like %s", written, near))
		}
	}
	var parts []string
	if len(unknown) > 0 {
		parts = append(parts, "not known and without effect: "+strings.Join(unknown, ", "))
	}
	if len(hints) > 0 {
		parts = append(parts, strings.Join(hints, ", "))
	}
	if len(ignored) > 0 {
		parts = append(parts, "known and without effect here: "+strings.Join(ignored, ", "))
	}
	if len(parts) > 0 {
		r.s.Warn("", "some properties do nothing; "+strings.Join(parts, "; "))
	}
	return unknown, ignored
}

// port says whether a text is a port's number.
func port(text string) bool {
	n, err := strconv.Atoi(text)
	return err == nil && n > 0 && n < 1<<16
}
