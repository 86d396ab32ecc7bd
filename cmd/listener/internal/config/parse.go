package config

import (
	"errors"
	"fmt"
	"math"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// The parsers below return an error whose text says what the setting takes, to follow its name and value.

// duration parses a time with a unit, such as 30s, of at least least.
func duration(text string, least time.Duration) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err == nil && text != "0" {
		if d >= least {
			return d, nil
		}
		return 0, tooShort(least)
	}
	if _, err := strconv.ParseFloat(text, 64); err == nil {
		return 0, bareNumber(text, least)
	}
	return 0, errors.New("takes a duration such as 30s, 5m or 1h30m")
}

func tooShort(least time.Duration) error {
	if least == 1 {
		return errors.New("takes a duration above zero, such as 30s or 5m")
	}
	return fmt.Errorf("takes a duration of at least %s", Brief(least))
}

// bareNumber names the units that would make a number without one pass.
func bareNumber(text string, least time.Duration) error {
	var pass []string
	for _, unit := range []string{"s", "m", "h"} {
		if d, err := time.ParseDuration(text + unit); err == nil && d >= least && len(pass) < 2 {
			pass = append(pass, text+unit)
		}
	}
	if len(pass) == 0 {
		return tooShort(least)
	}
	return errors.New("takes a duration with its unit, such as " + strings.Join(pass, " or "))
}

// Brief is a duration without its zero parts: 10m, not 10m0s.
func Brief(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// seconds parses a number of seconds, as Prefect's own settings are written.
func seconds(text string) (time.Duration, error) {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(n > 0) || n > math.MaxInt64/float64(time.Second) {
		return 0, errors.New("takes seconds above zero as a bare number, such as 60 or 2.5")
	}
	return time.Duration(n * float64(time.Second)), nil
}

// units of sizes, the binary ones and the decimal ones.
var units = []struct {
	name  string
	bytes float64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
	{"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1},
}

// size parses a number of bytes, with or without a unit, of at least least.
func size(text string, least int64) (int64, error) {
	number, factor := text, 1.0
	for _, unit := range units {
		if n, ok := cutSuffixFold(text, unit.name); ok {
			number, factor = strings.TrimSpace(n), unit.bytes
			break
		}
	}
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || math.IsNaN(n) || n*factor >= math.MaxInt64 {
		return 0, errors.New("takes a size such as 64MiB or 1GiB")
	}
	if bytes := int64(n * factor); bytes >= least {
		return bytes, nil
	}
	return 0, fmt.Errorf("takes a size of at least %s", Size(least))
}

func cutSuffixFold(text, suffix string) (string, bool) {
	at := len(text) - len(suffix)
	if at < 0 || !strings.EqualFold(text[at:], suffix) {
		return text, false
	}
	return text[:at], true
}

// Size is a number of bytes in the largest unit that divides it: 64MiB.
func Size(bytes int64) string {
	for _, unit := range []int{3, 2, 1, 0} {
		if whole := int64(units[unit].bytes); bytes >= whole && bytes%whole == 0 {
			return strconv.FormatInt(bytes/whole, 10) + units[unit].name
		}
	}
	return strconv.FormatInt(bytes, 10) + "B"
}

// rate parses a number of times per second. Zero is refused: for some it means none, for others no limit.
func rate(text string) (float64, error) {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(n > 0) || math.IsInf(n, 0) {
		return 0, errors.New("takes a number above zero, such as 5 or 0.5")
	}
	return n, nil
}

func boolean(text string) (bool, error) {
	switch strings.ToLower(text) {
	case "true", "1", "yes", "on", "t", "y":
		return true, nil
	case "false", "0", "no", "off", "f", "n":
		return false, nil
	default:
		return false, errors.New("takes true or false")
	}
}

// choice parses one of a few words, in any case.
func choice(text string, words ...string) (string, error) {
	word := strings.ToLower(text)
	if slices.Contains(words, word) {
		return word, nil
	}
	last := len(words) - 1
	if last == 0 {
		return "", fmt.Errorf("takes %s", words[0])
	}
	return "", fmt.Errorf("takes %s or %s", strings.Join(words[:last], ", "), words[last])
}

// webURL parses an http or https address.
func webURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	// url.Parse's own error repeats the address with its password.
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
		return nil, errors.New("takes an address that begins with http:// or https://")
	}
	if u.RawQuery != "" || u.Fragment != "" || u.ForceQuery {
		return nil, errors.New("takes an address without ? and #")
	}
	return u, nil
}

// pingURL checks an address that is asked for and may hold a secret anywhere, which the error therefore leaves out.
func pingURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
		return errors.New("takes an address that begins with http:// or https://")
	}
	return nil
}

// OffAddr is the address that serves nothing.
const OffAddr = "off"

// listenAddr parses host:port, where the host may be left out, or off.
func listenAddr(text string) (string, error) {
	if strings.EqualFold(text, OffAddr) {
		return OffAddr, nil
	}
	host, port, err := net.SplitHostPort(text)
	if err == nil && !strings.ContainsAny(host, "/ ") {
		if n, err := strconv.ParseUint(port, 10, 16); err == nil {
			return net.JoinHostPort(host, strconv.FormatUint(n, 10)), nil
		}
	}
	return "", errors.New("takes host:port, such as 127.0.0.1:4280 or :8080, or off")
}

// userPassword checks the shape of HTTP Basic credentials.
func userPassword(text string) error {
	if user, password, ok := strings.Cut(text, ":"); !ok || user == "" || password == "" {
		return errors.New("takes user:password")
	}
	return oneLine(text)
}

// oneLine checks that a secret can go into a header, as most do. What it says leaves the secret out.
func oneLine(text string) error {
	if strings.ContainsFunc(text, unicode.IsControl) {
		return errors.New("takes text without line breaks and control characters")
	}
	return nil
}
