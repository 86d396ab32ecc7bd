package completion

import (
	"fmt"
	"strings"
)

// bash completes by a function that goes through the words so far.
func bash(program string, all []command) string {
	var out strings.Builder
	put := func(format string, args ...any) { fmt.Fprintf(&out, format+"\n", args...) }
	put("# Completion of %s for bash: source <(%s completion bash)", program, program)
	put("_%s() {", program)
	put("    local cur=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} at= word words= flags=")
	put("    # For bash, --output=json is three words.")
	put("    if [[ $cur == '=' ]]; then cur=")
	put("    elif [[ $before == '=' ]]; then before=${COMP_WORDS[COMP_CWORD-2]}")
	put("    fi")
	put(`    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do`)
	put(`        case "$at $word" in`)
	put(`            %s) at="${at:+$at }$word" ;;`, quotedAll(steps(all), "|"))
	put("        esac")
	put("    done")
	put(`    case "$at $before" in`)
	for _, c := range all {
		for _, f := range c.flags {
			if f.takes {
				put(`        %s) COMPREPLY=($(compgen -W %s -- "$cur")); return ;;`, after(c, f), quoted(strings.Join(f.values, " ")))
			}
		}
	}
	put("    esac")
	put(`    case "$at" in`)
	for _, c := range all {
		var words, flags []string
		for _, w := range c.words {
			words = append(words, w.text)
		}
		for _, f := range c.flags {
			flags = append(flags, f.names()...)
		}
		put("        %s) words=%s flags=%s ;;", quoted(c.path), quoted(strings.Join(words, " ")), quoted(strings.Join(flags, " ")))
	}
	put("    esac")
	put(`    if [[ $cur == -* || -z $words ]]; then words=$flags; fi`)
	put(`    COMPREPLY=($(compgen -W "$words" -- "$cur"))`)
	put("}")
	put("complete -F _%s %s", program, program)
	return out.String()
}

// after is the pattern of the places where a flag's value stands: behind its name, in a command or where the command
// stands for another.
func after(c command, f flag) string {
	var places []string
	for _, name := range f.names() {
		places = append(places, c.path+" "+name)
	}
	return quotedAll(places, "|")
}
