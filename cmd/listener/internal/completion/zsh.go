package completion

import (
	"fmt"
	"strings"
)

// zsh completes by a function that describes what may follow.
func zsh(program string, all []command) string {
	var out strings.Builder
	put := func(format string, args ...any) { fmt.Fprintf(&out, format+"\n", args...) }
	put("#compdef %s", program)
	put("# Completion of %s for zsh: source <(%s completion zsh), or as a file _%s in a folder of $fpath.", program, program, program)
	put("_%s() {", program)
	put("    local at= word before=$words[CURRENT-1]")
	put("    local -a found flags")
	put("    if [[ $PREFIX == --*=* ]]; then before=${PREFIX%%%%=*}; compset -P '*='; fi")
	put("    for word in ${words[2,CURRENT-1]}; do")
	put(`        case "$at $word" in`)
	put(`            (%s) at="${at:+$at }$word" ;;`, quotedAll(steps(all), "|"))
	put("        esac")
	put("    done")
	put(`    case "$at $before" in`)
	for _, c := range all {
		for _, f := range c.flags {
			if f.takes {
				put("        (%s) found=(%s); _describe value found; return ;;", after(c, f), quotedAll(f.values, " "))
			}
		}
	}
	put("    esac")
	put("    case $at in")
	for _, c := range all {
		var words, flags []string
		for _, w := range c.words {
			words = append(words, described(w.text, w.help))
		}
		for _, f := range c.flags {
			for _, name := range f.names() {
				flags = append(flags, described(name, f.help))
			}
		}
		put("        (%s)", quoted(c.path))
		put("            found=(%s)", quotedAll(words, " "))
		put("            flags=(%s) ;;", quotedAll(flags, " "))
	}
	put("    esac")
	put("    if [[ $PREFIX == -* || ${#found} == 0 ]]; then found=($flags); fi")
	put("    _describe %s found", program)
	put("}")
	put("if [[ ${zsh_eval_context[-1]} == loadautofunc ]]; then _%s \"$@\"; else compdef _%s %s; fi", program, program, program)
	return out.String()
}

// described is a word with its help as _describe wants them: the first colon that stands alone divides them.
func described(text, help string) string { return strings.ReplaceAll(text, ":", `\:`) + ":" + help }
