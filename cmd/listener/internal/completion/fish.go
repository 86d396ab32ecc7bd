package completion

import (
	"fmt"
	"strings"
)

// fish completes by a list of what may follow where.
func fish(program string, all []command) string {
	var out strings.Builder
	put := func(format string, args ...any) { fmt.Fprintf(&out, format+"\n", args...) }
	put("# Completion of %s for fish: %s completion fish | source", program, program)
	put("function __%s_at", program)
	put("    set -l at ''")
	put("    set -l words (commandline -opc)")
	put("    set -e words[1]")
	put("    for word in $words")
	put(`        switch "$at $word"`)
	put("            case %s", quotedAll(steps(all), " "))
	put(`                set at (string trim -- "$at $word")`)
	put("        end")
	put("    end")
	put(`    test "$at" = "$argv[1]"`)
	put("end")
	put("complete -c %s -f", program)
	for _, c := range all {
		here := fmt.Sprintf("complete -c %s -n %s", program, quoted("__"+program+"_at "+doubleQuoted(c.path)))
		for _, w := range c.words {
			put("%s -a %s -d %s", here, quoted(w.text), fishQuoted(w.help))
		}
		for _, f := range c.flags {
			line := here + " -l " + f.long
			if f.short != "" {
				line += " -s " + f.short
			}
			if f.takes {
				line += " -x"
			}
			if len(f.values) > 0 {
				line += " -a " + quoted(strings.Join(f.values, " "))
			}
			put("%s -d %s", line, fishQuoted(f.help))
		}
	}
	return out.String()
}

// doubleQuoted is for within a quoted text; paths of commands hold letters and spaces alone.
func doubleQuoted(text string) string { return `"` + text + `"` }

// fishQuoted quotes as fish does, where a backslash counts between single quotes too.
func fishQuoted(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(text) + "'"
}
