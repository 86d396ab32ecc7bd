package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// How a shell is asked what may follow the words in $WORDS, the last of which is being typed; empty words can't be told
// from none, so that a line that ends in a space is given as one that ends in _.
var shells = map[string]string{
	"bash": `source "$SCRIPT"
read -ra COMP_WORDS <<< "${WORDS//=/ = }"
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
[[ ${COMP_WORDS[COMP_CWORD]} == _ ]] && COMP_WORDS[COMP_CWORD]=
_listener
printf '%s\n' "${COMPREPLY[@]}"`,
	"zsh": `compdef() { }
compset() { PREFIX=${PREFIX#*=} }
_describe() { for word in ${(P)2}; do [[ $word == $PREFIX* ]] && print -r -- ${word%%:*}; done }
source $SCRIPT
words=(${(s: :)WORDS}) CURRENT=${#words}
PREFIX=$words[CURRENT]
[[ $PREFIX == _ ]] && PREFIX=
_listener
true`,
	"fish": `source $SCRIPT
complete -C (string replace -r ' _$' ' ' -- $WORDS) | string replace -r '\t.*' ''`,
}

// What real shells make of the scripts.
func TestCompletion(t *testing.T) {
	t.Parallel()
	for shell, ask := range shells {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			program, err := exec.LookPath(shell)
			switch {
			case err != nil && os.Getenv("CI") != "":
				t.Fatal(err)
			case err != nil:
				t.Skipf("%s is not installed", shell)
			}
			r := newRig()
			r.want(t, exitOK, "completion", shell)
			script := filepath.Join(t.TempDir(), "script")
			if err := os.WriteFile(script, []byte(r.stdout.String()), 0o600); err != nil {
				t.Fatal(err)
			}
			for line, want := range map[string]string{
				"listener dea":                          "deadletters",
				"listener de":                           "deadletters destinations",
				"listener completion _":                 "bash fish zsh",
				"listener deadletters re":               "replay",
				"listener deadletters list --l":         "--limit",
				"listener deadletters --li":             "--limit", // of list, which it stands for
				"listener status -o j":                  "json",
				"listener status --output _":            "json text",
				"listener status --output=t":            "text",
				"listener backfill --since _":           "", // the user's own
				"listener backfill --re":                "--resend",
				"listener backfill --since check --des": "--destination",
				"listener --rec":                        "--recover",
				"listener nonsense --vers":              "",
			} {
				if got := completed(t, program, shell, ask, script, line); got != want {
					t.Errorf("%s: %q, want %q", line, got, want)
				}
			}
		})
	}
}

// completed is what the shell offers, in the order of the alphabet.
func completed(t *testing.T, program, shell, ask, script, line string) string {
	t.Helper()
	start := map[string][]string{"bash": {"--norc", "-c"}, "zsh": {"-fc"}, "fish": {"--no-config", "-c"}}[shell]
	command := exec.CommandContext(t.Context(), program, append(start, ask)...)
	command.Env = append(os.Environ(), "SCRIPT="+script, "WORDS="+line, "HOME="+t.TempDir())
	out, err := command.CombinedOutput()
	if err != nil && len(out) > 0 {
		t.Fatalf("%s: %v\n%s", line, err, out)
	}
	found := strings.Fields(string(out))
	for i, word := range found { // fish completes the whole word
		found[i] = strings.TrimPrefix(word, "--output=")
	}
	slices.Sort(found)
	return strings.Join(found, " ")
}

// A script holds every command, so that none is forgotten.
func TestCompletionHasEveryCommand(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"bash", "zsh", "fish"} {
		r := newRig()
		r.want(t, exitOK, "completion", shell)
		for _, name := range []string{"run", "backfill", "preview", "check", "status", "deadletters", "show", "destinations", "park", "adopt", "completion", "version"} {
			if !strings.Contains(r.stdout.String(), name) {
				t.Errorf("%s: nothing about %s", shell, name)
			}
		}
	}
	newRig().want(t, exitUsage, "completion", "csh")
}
