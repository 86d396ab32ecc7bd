package datadog

import (
	"strings"

	"github.com/prefect-openlineage/listener/transport"
)

// judge says what an answer of the intake means: what its status means everywhere, with words that fit Datadog.
func judge(a transport.Answer) (*transport.Error, string) {
	e := transport.Classify(a)
	if e == nil {
		return nil, ""
	}
	words := ""
	switch {
	case e.Reason == transport.ReasonAuth:
		words = " (check the API key and the site: a key is good for one site alone)"
	case e.Reason == transport.ReasonRedirect, e.Reason == transport.ReasonNotAPI, e.Outcome == transport.Hold:
		words = " (check the site)"
	}
	if text := oneLine(string(a.Body)); text != "" {
		words += ": " + text
	}
	if words == "" {
		words = " (without a word)"
	}
	return e, words
}

// maxSaid is how many characters of an answer stand in an error's text; the error's Answer holds more.
const maxSaid = 200

// oneLine returns a text on one line, shortened.
func oneLine(text string) string {
	words := []rune(strings.Join(strings.Fields(text), " "))
	if len(words) > maxSaid {
		return string(words[:maxSaid]) + "…"
	}
	return string(words)
}
