package openlineage

import "strings"

// tableParts splits a table's name at its dots, outside quotes ("a.b", `a.b`, [a.b]), and takes the quotes off; a part
// with a dot in it gets double quotes, whatever it had. False: there is no table in it.
func tableParts(table string) ([]string, bool) {
	// BigQuery quotes the whole of project.dataset.table at once: then the dots inside separate.
	if inner, ok := quotedWhole(table, '`'); ok {
		table = inner
	}
	var parts []string
	for {
		part, rest, more := cutPart(table)
		parts = append(parts, part)
		if !more {
			break
		}
		table = rest
	}
	return parts, parts[len(parts)-1] != ""
}

// quotedWhole returns what stands between two quotes when nothing but them encloses the text.
func quotedWhole(s string, quote byte) (string, bool) {
	if len(s) < 2 || s[0] != quote || s[len(s)-1] != quote {
		return s, false
	}
	inner := s[1 : len(s)-1]
	return inner, strings.IndexByte(inner, quote) < 0
}

// cutPart splits the first part from the rest of a dotted name.
func cutPart(s string) (part, rest string, more bool) {
	s = strings.TrimLeft(s, " ")
	if s != "" && strings.IndexByte("\"`[", s[0]) >= 0 {
		closing := s[0]
		if closing == '[' {
			closing = ']'
		}
		if inner, after, ok := cutQuoted(s[1:], closing); ok {
			if after == "" {
				return quoteDotted(inner), "", false
			}
			return quoteDotted(inner), after[1:], true
		}
	}
	part, rest, more = strings.Cut(s, ".")
	return strings.TrimSpace(part), rest, more
}

// cutQuoted splits behind the closing quote, which must end the name or stand before a dot. A doubled quote is one
// quote of the part itself.
func cutQuoted(s string, closing byte) (inner, after string, ok bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != closing {
			b.WriteByte(s[i])
			continue
		}
		if i+1 < len(s) && s[i+1] == closing {
			b.WriteByte(closing)
			i++
			continue
		}
		after = strings.TrimSpace(s[i+1:])
		return b.String(), after, after == "" || after[0] == '.'
	}
	return "", "", false
}

func quoteDotted(part string) string {
	part = strings.TrimSpace(part)
	if strings.Contains(part, ".") {
		return `"` + strings.ReplaceAll(part, `"`, `""`) + `"`
	}
	return part
}

// qualify puts a table's own parts behind those that are known otherwise, the outermost first, until there are as many
// as known ones and the table itself. The table's own parts win; what is empty on both sides is left out.
func qualify(parts []string, known ...string) string {
	missing := len(known) + 1 - len(parts)
	if missing < 0 {
		// More parts than the system has levels, such as a linked server's: all of them are meant.
		return strings.Join(parts, ".")
	}
	var all []string
	for i, part := range known {
		if own := i - missing; own >= 0 && parts[own] != "" {
			part = parts[own]
		}
		if part != "" {
			all = append(all, part)
		}
	}
	return strings.Join(append(all, parts[len(parts)-1]), ".")
}
