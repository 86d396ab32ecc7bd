package main

import (
	"bytes"
	"io"
)

// What a terminal is told to show a part of JSON in a colour. Those of the terminal's own eight are readable on any
// background that its user chose.
const (
	plainInk  = "\x1b[0m"
	keyInk    = "\x1b[34m" // blue
	textInk   = "\x1b[32m" // green
	numberInk = "\x1b[36m" // cyan
	wordInk   = "\x1b[33m" // yellow: true, false, null
)

// colours says whether standard output may be coloured: a terminal that can, of somebody who has not asked for none
// (https://no-color.org).
func colours(terminal bool, getenv func(string) string) bool {
	return terminal && getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"
}

// colourWriter colours lines of JSON. What it writes is what it was given once the colours are taken out.
type colourWriter struct {
	to   io.Writer
	line []byte // that has not ended yet
}

// Write takes the text and writes the lines that have ended.
func (c *colourWriter) Write(text []byte) (int, error) {
	c.line = append(c.line, text...)
	end := bytes.LastIndexByte(c.line, '\n') + 1
	if end == 0 {
		return len(text), nil
	}
	if _, err := c.to.Write(coloured(c.line[:end])); err != nil {
		return 0, err
	}
	c.line = append(c.line[:0], c.line[end:]...)
	return len(text), nil
}

// coloured puts colours around the parts of JSON, and leaves alone what is none.
func coloured(text []byte) []byte {
	var out []byte
	for at := 0; at < len(text); {
		part, ink := nextPart(text[at:])
		if ink == "" {
			out = append(out, part...)
		} else {
			out = append(append(append(out, ink...), part...), plainInk...)
		}
		at += len(part)
	}
	return out
}

// nextPart is the first part of a text that is not empty, with its colour; empty for signs and spaces.
func nextPart(text []byte) (part []byte, ink string) {
	switch first := text[0]; {
	case first == '"':
		part = text[:textEnd(text)]
		if bytes.HasPrefix(bytes.TrimLeft(text[len(part):], " "), []byte(":")) {
			return part, keyInk
		}
		return part, textInk
	case first == '-' || first >= '0' && first <= '9':
		return text[:run(text, "+-.0123456789Ee")], numberInk
	case first >= 'a' && first <= 'z':
		return text[:run(text, "abcdefghijklmnopqrstuvwxyz")], wordInk
	default:
		return text[:1], ""
	}
}

// textEnd is where a text in quotes ends, behind its last quote.
func textEnd(text []byte) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

// run is how many of the first bytes are among these.
func run(text []byte, among string) int {
	for i, b := range text {
		if bytes.IndexByte([]byte(among), b) < 0 {
			return i
		}
	}
	return len(text)
}
