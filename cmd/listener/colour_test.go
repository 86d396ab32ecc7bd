package main

import (
	"context"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/prefect-openlineage/listener/cmd/listener/internal/app"
)

func TestColours(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		terminal bool
		env      map[string]string
		want     bool
	}{
		{true, nil, true},
		{false, nil, false},
		{true, map[string]string{"NO_COLOR": "1"}, false},
		{true, map[string]string{"TERM": "dumb"}, false},
		{true, map[string]string{"TERM": "xterm"}, true},
	} {
		equal(t, test.want, colours(test.terminal, func(name string) string { return test.env[name] }))
	}
}

func TestColoured(t *testing.T) {
	t.Parallel()
	got := string(coloured([]byte(`{"a":"x: \"y\"","b" : [-1.5e3,true,null]}` + "\n")))
	want := `{<blue>"a"<>:<green>"x: \"y\""<>,<blue>"b"<> : [<cyan>-1.5e3<>,<yellow>true<>,<yellow>null<>]}` + "\n"
	equal(t, want, strings.NewReplacer(keyInk, "<blue>", textInk, "<green>", numberInk, "<cyan>", wordInk, "<yellow>", plainInk, "<>").Replace(got))
}

var inks = regexp.MustCompile("\x1b\\[[0-9]+m")

// Colours change nothing but the colours, however the text comes.
func TestColoursLeaveTheTextAlone(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var out, in strings.Builder
		w := &colourWriter{to: &out}
		for _, piece := range rapid.SliceOf(rapid.StringMatching(`[a-c"\\:{}, 0-9\n-]*`)).Draw(t, "pieces") {
			in.WriteString(piece)
			if n, err := w.Write([]byte(piece)); n != len(piece) || err != nil {
				t.Fatalf("%d, %v", n, err)
			}
		}
		if _, err := w.Write([]byte("\n")); err != nil {
			t.Fatal(err)
		}
		if got := inks.ReplaceAllString(out.String(), ""); got != in.String()+"\n" {
			t.Fatalf("%q became %q", in.String(), got)
		}
	})
}

// Only a terminal sees colours: what a script reads is the events' own bytes.
func TestPreviewInColour(t *testing.T) {
	t.Parallel()
	for _, colourful := range []bool{true, false} {
		r := newRig()
		r.process.colours = colourful
		r.process.do.preview = func(_ context.Context, o app.Options, _ app.BackfillRequest, _ app.Show) (app.BackfillResult, error) {
			_, err := io.WriteString(o.Stdout, "{\"a\":1}\n")
			return app.BackfillResult{Runs: 1}, err
		}
		r.want(t, exitOK, "preview", "--since", "1h")
		equal(t, colourful, inks.MatchString(r.stdout.String()))
		equal(t, "{\"a\":1}\n", inks.ReplaceAllString(r.stdout.String(), ""))
		r.process.stdout = fullDisk{}
		r.want(t, exitError, "preview", "--since", "1h")
	}
}

func TestColourWriterTellsOfErrors(t *testing.T) {
	t.Parallel()
	w := &colourWriter{to: fullDisk{}}
	if _, err := w.Write([]byte("1\n")); !errors.Is(err, errFullDisk) {
		t.Errorf("the error is %v", err)
	}
}
