package adapter

import (
	"strings"
	"unicode/utf8"

	"github.com/prefect-openlineage/listener/openlineage"
	"github.com/prefect-openlineage/listener/prefect"
)

// unnamed stands in for a name that Prefect left empty: a job without a name breaks Marquez for everyone.
const unnamed = "unnamed"

// taskName returns the task's name without what differs from run to run. Prefect makes a run's name of the task's name
// and a suffix that its dynamic key predicts: nothing else is ever cut off, since a task may be called load-1a2.
func taskName(t prefect.TaskRun) string {
	name, key := t.Name, t.DynamicKey
	// 2.x, and 3.x where the server makes the task run (task.delay in a flow).
	if base, ok := cutSuffix(name, key); ok {
		return base
	}
	// Background and standalone tasks: the run's name is the task's.
	if t.TaskKey != "" && strings.HasPrefix(key, t.TaskKey) {
		// 2.x makes their names up, and the keys with 8 digits, where 3.x has 32.
		if function := functionName(t.TaskKey); function != "" && codeHash(strings.TrimPrefix(key, t.TaskKey+"-")) {
			return function
		}
		return name
	}
	// 3.x: the dynamic key is a UUID and its beginning stands in the name. 2.x did so for background tasks, with 8.
	for _, n := range []int{3, 8} {
		if len(key) <= n {
			continue
		}
		if base, ok := cutSuffix(name, key[:n]); ok {
			return base
		}
	}
	if function := functionName(t.TaskKey); function != "" {
		return function // a templated name
	}
	return name
}

// cutSuffix cuts a dash and the key off a name that ends so and has something before it.
func cutSuffix(name, key string) (string, bool) {
	if key == "" {
		return "", false
	}
	base, ok := strings.CutSuffix(name, "-"+key)
	return base, ok && base != ""
}

// functionName returns the function's name that a task key holds: load-4d7a2869 on 3.x and late 2.x,
// flows.etl.load before that.
func functionName(taskKey string) string {
	name := taskKey
	if i := strings.LastIndexByte(name, '-'); i > 0 && codeHash(name[i+1:]) {
		name = name[:i]
	}
	return name[strings.LastIndexByte(name, '.')+1:]
}

// codeHash says whether s is what Prefect puts behind a function's name in a task key: 8 hex digits, or a word where
// it could not read the code.
func codeHash(s string) bool {
	if s == "unknown" {
		return true
	}
	if len(s) != 8 {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// cleanName makes a job name fit for every consumer: one line, not empty and not too long. It says whether it had to
// change more than blanks around it.
func cleanName(name string) (string, bool) {
	cleaned := openlineage.CleanJobName(name)
	changed := cleaned != strings.TrimSpace(name)
	if cleaned == "" {
		return unnamed, true
	}
	return cleaned, changed
}

// cutBytes cuts s to at most n bytes, between two characters.
func cutBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
