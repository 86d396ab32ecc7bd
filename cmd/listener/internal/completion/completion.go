// Package completion writes what shells need to complete the command line. The scripts are static: they hold every command
// and flag, so that completing starts no process and works without settings.
package completion

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// Shells are those that a script can be written for.
func Shells() []string { return []string{"bash", "fish", "zsh"} }

// Write writes the script of one of Shells for the program whose grammar app is.
func Write(w io.Writer, shell string, app *kong.Node) error {
	var script func(program string, all []command) string
	switch shell {
	case "bash":
		script = bash
	case "fish":
		script = fish
	case "zsh":
		script = zsh
	default:
		return fmt.Errorf("there is no completion for %q: there is one for %s", shell, strings.Join(Shells(), ", "))
	}
	if _, err := io.WriteString(w, script(app.Name, commands(app))); err != nil {
		return fmt.Errorf("writing the script: %w", err)
	}
	return nil
}

// command is a place in the grammar: what may stand behind the words that lead to it.
type command struct {
	path  string // the words behind the program's name, with spaces between; empty: none
	words []word
	flags []flag
}

// word is a subcommand, or a value that an argument takes.
type word struct {
	text, help string
	leads      bool // to a command of its own
}

// flag is one with its values: those that it takes, none for a text that is the user's.
type flag struct {
	long   string
	short  string // empty: none
	takes  bool   // a value
	values []string
	help   string
}

// names are the ways to write the flag.
func (f flag) names() []string {
	all := []string{"--" + f.long}
	if f.short != "" {
		all = append(all, "-"+f.short)
	}
	return all
}

// commands walks through the grammar, each command before those under it.
func commands(app *kong.Node) []command {
	var all []command
	var walk func(node *kong.Node, path string)
	walk = func(node *kong.Node, path string) {
		c := command{path: path, flags: flagsOf(app, node)}
		for _, argument := range node.Positional {
			if argument.Enum != "" {
				for _, value := range argument.EnumSlice() {
					c.words = append(c.words, word{text: value, help: brief(argument.Help)})
				}
			}
		}
		for _, child := range node.Children {
			if !child.Hidden {
				c.words = append(c.words, word{text: child.Name, help: brief(child.Help), leads: true})
			}
		}
		all = append(all, c)
		for _, child := range node.Children {
			if !child.Hidden {
				walk(child, strings.TrimSpace(path+" "+child.Name))
			}
		}
	}
	walk(app, "")
	return all
}

// flagsOf are a command's own flags, those of the command that it stands for when nothing follows, and --help.
func flagsOf(app, node *kong.Node) []flag {
	all := slices.Clone(node.Flags)
	if node.DefaultCmd != nil {
		all = append(all, node.DefaultCmd.Flags...)
	}
	if node != app {
		all = append(all, app.Flags...) // --help
	}
	var flags []flag
	for _, f := range all {
		if f.Hidden {
			continue
		}
		one := flag{long: f.Name, takes: !f.IsBool(), help: brief(f.Help)}
		if f.Short != 0 {
			one.short = string(f.Short)
		}
		if f.Enum != "" {
			one.values = f.EnumSlice()
		}
		flags = append(flags, one)
	}
	return flags
}

// brief is a help's first sentence, for beside a word.
func brief(help string) string {
	first, _, _ := strings.Cut(strings.Join(strings.Fields(help), " "), ". ")
	return strings.TrimSuffix(first, ".")
}

// steps are the pairs "PATH WORD" that lead from one command to the next.
func steps(all []command) []string {
	var found []string
	for _, c := range all {
		for _, w := range c.words {
			if w.leads {
				found = append(found, c.path+" "+w.text)
			}
		}
	}
	return found
}

// quoted is a text as every one of these shells takes it literally.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// quotedAll quotes texts, with a separator between.
func quotedAll(texts []string, between string) string {
	all := make([]string, len(texts))
	for i, text := range texts {
		all[i] = quoted(text)
	}
	return strings.Join(all, between)
}
