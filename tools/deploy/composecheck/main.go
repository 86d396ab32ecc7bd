// Command composecheck reads a Compose file as Docker's own program does, with that program's library, and prints it with
// everything filled in, as JSON:
//
//	composecheck COMPOSE-FILE ENV-FILE
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/compose-spec/compose-go/v2/cli"
)

func main() {
	if err := check(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func check(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("usage: composecheck COMPOSE-FILE ENV-FILE")
	}
	options, err := cli.NewProjectOptions(args[:1], cli.WithEnvFiles(args[1]), cli.WithDotEnv, cli.WithConsistency(true))
	if err != nil {
		return err
	}
	project, err := options.LoadProject(context.Background())
	if err != nil {
		return err
	}
	text, err := project.MarshalJSON()
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(append(text, '\n'))
	return err
}
