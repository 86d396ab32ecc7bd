package main

import (
	"github.com/alecthomas/kong"

	"github.com/prefect-openlineage/listener/cmd/listener/internal/completion"
)

// completionCmd prints a script that completes command lines.
type completionCmd struct {
	Shell string `arg:"" enum:"bash,fish,zsh" help:"bash, fish or zsh."`
}

// Help says how the script gets into the shell.
func (c *completionCmd) Help() string {
	return `To have it in every shell:
  bash  a line in ~/.bashrc: source <(listener completion bash)
  zsh   a line in ~/.zshrc, behind compinit: source <(listener completion zsh)
  fish  once: listener completion fish > ~/.config/fish/completions/listener.fish`
}

// Run prints it.
func (c *completionCmd) Run(p *process, command *kong.Context) error {
	return completion.Write(p.stdout, c.Shell, command.Model.Node)
}
