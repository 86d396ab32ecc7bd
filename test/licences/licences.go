package licences

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// kinds are the licences that may be used, each with what its text holds and no other's does.
var kinds = []struct {
	name  string // as SPDX writes it, or in words where it has none
	holds []string
}{
	{"Apache-2.0", []string{"apache license", "version 2.0, january 2004"}},
	{"MPL-2.0", []string{"mozilla public license version 2.0"}},
	{"MPL-2.0", []string{"mozilla public license, version 2.0"}},
	{"BSD-3-Clause", []string{"redistribution and use in source and binary forms", "neither the name"}},
	{"BSD-3-Clause", []string{"redistribution and use in source and binary forms", "may not be used to endorse"}},
	{"BSD-2-Clause", []string{"redistribution and use in source and binary forms"}},
	{"ISC", []string{"permission to use, copy, modify, and", "distribute this software for any purpose with or without fee"}},
	{"MIT", []string{"permission is hereby granted, free of charge, to any person obtaining a copy"}},
	{"Unlicense", []string{"this is free and unencumbered software released into the public domain"}},
	{"public domain", []string{"the author disclaims copyright to this source code"}},
	{"public domain", []string{"sqlite is public domain"}},
}

// Of returns the licences that a text holds, sorted; none where there is none that is known here.
func Of(text string) []string {
	text = strings.ToLower(strings.Join(strings.Fields(text), " "))
	var found []string
	for _, kind := range kinds {
		if !slices.ContainsFunc(kind.holds, func(words string) bool { return !strings.Contains(text, words) }) {
			found = append(found, kind.name)
		}
	}
	if slices.Contains(found, "BSD-3-Clause") { // which holds all of the other's words
		found = slices.DeleteFunc(found, func(name string) bool { return name == "BSD-2-Clause" })
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// notCode are files about something that no program holds.
var notCode = []string{"LICENSE-LOGO"}

// InFolder returns the licences of the module in a folder, sorted, with AND between several.
func InFolder(folder string) (string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return "", fmt.Errorf("looking for a licence: %w", err)
	}
	var found []string
	for _, entry := range entries {
		name := strings.ToUpper(entry.Name())
		if entry.IsDir() || slices.Contains(notCode, name) || !strings.HasPrefix(name, "LICEN") && !strings.HasPrefix(name, "COPYING") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		if err != nil {
			return "", fmt.Errorf("reading a licence: %w", err)
		}
		kinds := Of(string(text))
		if len(kinds) == 0 {
			return "", fmt.Errorf("%s is a licence that is not known here, or may not be used", filepath.Join(folder, entry.Name()))
		}
		found = append(found, kinds...)
	}
	if len(found) == 0 {
		return "", fmt.Errorf("%s has no file LICENSE, LICENCE or COPYING", folder)
	}
	slices.Sort(found)
	return strings.Join(slices.Compact(found), " AND "), nil
}
