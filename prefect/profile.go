package prefect

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sort"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// ErrNoProfile is for a profile that was named and is neither in the profiles file nor one that Prefect ships.
var ErrNoProfile = errors.New("no such Prefect profile")

// shippedProfiles are the profiles that come with the Prefect package (3.9.1, settings/profiles.toml). They count as
// if they stood in the file, below the file's own.
func shippedProfiles() map[string]map[string]string {
	return map[string]map[string]string{
		"ephemeral": {"PREFECT_SERVER_EPHEMERAL_ENABLED": "true"},
		"local":     {"PREFECT_API_URL": "http://127.0.0.1:4200/api"},
		"test": {
			"PREFECT_SERVER_EPHEMERAL_ENABLED":       "true",
			"PREFECT_SERVER_DATABASE_CONNECTION_URL": "sqlite+aiosqlite:///:memory:",
		},
		"cloud": {},
	}
}

// defaultProfile is the shipped profile that is active where nothing names another.
const defaultProfile = "ephemeral"

// ReadProfile returns the settings of a Prefect profile, by their environment variables' names. path is the profiles
// file (PREFECT_PROFILES_PATH, else profiles.toml in PREFECT_HOME); a file that isn't there is an empty one. name is
// the profile that PREFECT_PROFILE names; empty: the one that the file calls active.
func ReadProfile(path, name string) (map[string]string, error) {
	content, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("reading the Prefect profiles: %w", err)
	}
	settings, err := ParseProfile(content, name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return settings, nil
}

// ParseProfile is ReadProfile on a file's content. Prefect itself falls back to its default profile when the named one
// is missing; here that is ErrNoProfile, since a reader that quietly asks another server is worse than none.
func ParseProfile(content []byte, name string) (map[string]string, error) {
	var file struct {
		Active   string                    `toml:"active"`
		Profiles map[string]map[string]any `toml:"profiles"`
	}
	if err := toml.Unmarshal(content, &file); err != nil {
		return nil, tomlError(err)
	}
	for _, candidate := range []string{name, file.Active, defaultProfile} {
		if candidate != "" {
			name = candidate
			break
		}
	}
	if own, ok := file.Profiles[name]; ok {
		settings := make(map[string]string, len(own))
		for key, value := range own {
			written, err := settingText(value)
			if err != nil {
				return nil, fmt.Errorf("profile %s: %s: %w", name, key, err)
			}
			settings[key] = written
		}
		return settings, nil
	}
	if shipped, ok := shippedProfiles()[name]; ok {
		return shipped, nil
	}
	return nil, fmt.Errorf("%w: %q; there are %s", ErrNoProfile, name, strings.Join(profileNames(file.Profiles), ", "))
}

// tomlError says where a file is wrong, without quoting the line: it may hold a key.
func tomlError(err error) error {
	if decoding, ok := errors.AsType[*toml.DecodeError](err); ok {
		row, column := decoding.Position()
		return fmt.Errorf("the file is no valid TOML or has an unexpected form at line %d, column %d", row, column)
	}
	return errors.New("the file is no valid TOML or has an unexpected form")
}

// settingText writes a TOML value as the environment variable would hold it.
func settingText(value any) (string, error) {
	switch value := value.(type) {
	case string:
		return value, nil
	case map[string]any, []any:
		encoded, err := json.Marshal(value)
		if err != nil {
			return "", errors.New("a value that JSON can't hold")
		}
		return string(encoded), nil
	default:
		return fmt.Sprint(value), nil
	}
}

// profileNames are the profiles that may be named.
func profileNames(own map[string]map[string]any) []string {
	names := make([]string, 0, len(own))
	for name := range own {
		names = append(names, name)
	}
	for name := range shippedProfiles() {
		if _, ok := own[name]; !ok {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	return names
}
