package httptransport

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/prefect-openlineage/listener/transport/settings"
)

// maxTokenLife bounds what an answer may claim; beyond it only overflow waits.
const maxTokenLife = 30 * 24 * time.Hour

// readToken finds token and lifetime in an endpoint's answer. The lifetime is the field's, else that of the token's own
// exp claim, else unknownLife. Its errors hold nothing of the answer, which may hold a token after all.
func readToken(body []byte, t Token, now time.Time) (string, time.Duration, error) {
	var answer map[string]any
	if err := json.Unmarshal(body, &answer); err != nil {
		return "", 0, errors.New("the answer is no JSON object")
	}
	token := ""
	for _, field := range t.Fields {
		if value, ok := lookup(answer, field, strings.ToLower).(string); ok && strings.TrimSpace(value) != "" {
			token = strings.TrimSpace(value)
			break
		}
	}
	if token == "" || !validHeaderValue(token) {
		return "", 0, fmt.Errorf("the answer holds no token under %s", strings.Join(t.Fields, " or "))
	}
	loose := func(key string) string { return strings.ToLower(strings.ReplaceAll(key, "_", "")) }
	if n, ok := settings.AsNumber(lookup(answer, t.ExpiresInField, strings.ToLower, loose)); ok && n > 0 {
		return token, time.Duration(min(n, maxTokenLife.Seconds()) * float64(time.Second)), nil
	}
	if end, ok := expClaim(token); ok && end.After(now) {
		return token, min(end.Sub(now), maxTokenLife), nil
	}
	return token, unknownLife, nil
}

// lookup returns the value of a field: by its exact name, else by a name that is the same once folded, in the order of
// the foldings.
func lookup(answer map[string]any, name string, folds ...func(string) string) any {
	if value, ok := answer[name]; ok {
		return value
	}
	for _, fold := range folds {
		for key, value := range answer {
			if fold(key) == fold(name) {
				return value
			}
		}
	}
	return nil
}

// expClaim reads the end of a JWT without checking its signature: whoever issued it is believed anyhow.
func expClaim(token string) (time.Time, bool) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return time.Time{}, false
	}
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(parts[1], "="))
	if err != nil {
		return time.Time{}, false
	}
	var claims struct {
		Exp float64 `json:"exp"`
	}
	if json.Unmarshal(raw, &claims) != nil || claims.Exp <= 0 || claims.Exp > 1e11 {
		return time.Time{}, false
	}
	return time.Unix(int64(claims.Exp), 0), true
}
