package config

import (
	"math"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// The rules by which the Python client's parser (PyYAML, for YAML 1.1) reads a plain scalar. They differ from YAML
// 1.2, which Go's parser follows: there yes and off are texts and 010 is ten.
var (
	yamlNull  = regexp.MustCompile(`^(~|null|Null|NULL|)$`)
	yamlTrue  = regexp.MustCompile(`^(yes|Yes|YES|true|True|TRUE|on|On|ON)$`)
	yamlFalse = regexp.MustCompile(`^(no|No|NO|false|False|FALSE|off|Off|OFF)$`)
	yamlInt   = regexp.MustCompile(`^[-+]?(0b[01_]+|0[0-7_]+|0|[1-9][0-9_]*|0x[0-9a-fA-F_]+|[1-9][0-9_]*(:[0-5]?[0-9])+)$`)
	yamlFloat = regexp.MustCompile(`^([-+]?([0-9][0-9_]*)\.[0-9_]*([eE][-+][0-9]+)?|\.[0-9][0-9_]*([eE][-+][0-9]+)?|` +
		`[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+\.[0-9_]*|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$`)
)

// yamlScalar is a scalar's value. Dates stay text: nothing here takes one, and text is what an event would hold.
func yamlScalar(n *yaml.Node) any {
	text := n.Value
	if n.Style != 0 { // quoted, in a block, or with a tag of its own
		return text
	}
	switch {
	case yamlNull.MatchString(text):
		return nil
	case yamlTrue.MatchString(text):
		return true
	case yamlFalse.MatchString(text):
		return false
	case yamlInt.MatchString(text):
		return wholeNumber(text)
	case yamlFloat.MatchString(text):
		return floatNumber(text)
	default:
		return text
	}
}

func wholeNumber(text string) any {
	digits := strings.ReplaceAll(text, "_", "")
	sign, digits := cutSign(digits)
	base := 10
	switch {
	case strings.HasPrefix(digits, "0b"):
		digits, base = digits[2:], 2
	case strings.HasPrefix(digits, "0x"):
		digits, base = digits[2:], 16
	case strings.Contains(digits, ":"):
		return int(sign * sexagesimal(digits))
	case len(digits) > 1 && digits[0] == '0':
		base = 8
	}
	n, err := strconv.ParseInt(digits, base, 64)
	if err != nil {
		return text // larger than anything here takes
	}
	return int(sign) * int(n)
}

func floatNumber(text string) any {
	digits := strings.ToLower(strings.ReplaceAll(text, "_", ""))
	sign, digits := cutSign(digits)
	switch {
	case digits == ".inf":
		return math.Inf(int(sign))
	case digits == ".nan":
		return math.NaN()
	case strings.Contains(digits, ":"):
		return sign * sexagesimal(digits)
	}
	n, err := strconv.ParseFloat(digits, 64)
	if err != nil {
		return text
	}
	return sign * n
}

func cutSign(digits string) (float64, string) {
	if rest, ok := strings.CutPrefix(digits, "-"); ok {
		return -1, rest
	}
	return 1, strings.TrimPrefix(digits, "+")
}

// sexagesimal reads 1:30:00, which in YAML 1.1 is a number to the base of 60.
func sexagesimal(digits string) float64 {
	var n float64
	for part := range strings.SplitSeq(digits, ":") {
		value, err := strconv.ParseFloat(part, 64)
		if err != nil { // the pattern allows digits alone
			return n
		}
		n = n*60 + value
	}
	return n
}
