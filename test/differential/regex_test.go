package differential_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"

	"github.com/prefect-openlineage/listener/openlineage"
	"github.com/prefect-openlineage/listener/test/rig"
)

// refusedHere begin what Python's expressions can do and Go's cannot.
var refusedHere = []string{
	"looks ahead", "looks back", "refers back", "depends on a group", "uses an atomic group", "uses a possessive repetition",
	"uses the switch", "names a character",
}

// pieces make up expressions. \b is not among them: it is ASCII's here, which the guide says.
var pieces = []string{
	"a", "B", "é", ".", "_", " ", `\d`, `\D`, `\w`, `\W`, `\s`, `\S`, `\.`, `\n`, `\x41`, `\u00e9`, `\Z`, `\A`, `^`, `$`, "|", "*", "+", "?", "??", "*?",
	"{2}", "{,2}", "{1,}", "{1,2}?", "{", "}", "{x}", "[a-c]", "[^a]", "[]a]", `[\w-]`, `[^\W_]`, `[\d\s]`, `[\S]`, "[a", "]", "(", ")", "(?:", "(?i:", "(?s:",
	"(?m:", "(?a:", "(?-i:", "(?P<n>", "(?#x)", "(?i)", "(?m)", "(?=", "(?!", "(?<=", "(?>", "++", `\1`, "(?P=n)", `\0`, `\101`, `\8`, `\q`, "(?x)", "-", "&",
}

// Expressions that were put together at random match what Python's re.match does, or both refuse them.
func TestExpressionsMatchAsPythons(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	var given struct {
		Expressions []string `json:"expressions"`
		Names       []string `json:"names"`
	}
	for range 4000 {
		var expression strings.Builder
		for range 1 + random.IntN(6) {
			expression.WriteString(pieces[random.IntN(len(pieces))])
		}
		given.Expressions = append(given.Expressions, expression.String())
	}
	// No job's name holds a line break, and what $ means before the last one is told apart only by what follows it.
	letters := []rune("aAbBcé_ .1٣-]{}x&\u00a0\x1c数")
	given.Names = []string{"", "a", "ab", "aB", "é", "aaa", "a b", "A1"}
	for range 60 {
		name := make([]rune, 1+random.IntN(6))
		for i := range name {
			name[i] = letters[random.IntN(len(letters))]
		}
		given.Names = append(given.Names, string(name))
	}
	var python [][]bool
	ask(t, given, &python)
	taken, refusedBoth, refusedOnly := 0, 0, 0
	for i, expression := range given.Expressions {
		filter, err := openlineage.RegexFilter(expression)
		switch {
		case err != nil && python[i] == nil:
			refusedBoth++
		case err != nil:
			refusedOnly++
			if !reason(err, refusedHere) {
				t.Errorf("%q is refused, which Python takes: %v", expression, err)
			}
		case python[i] == nil:
			t.Errorf("%q is taken, which Python refuses", expression)
		default:
			taken++
			for n, name := range given.Names {
				if got := filter.Matches(name); got != python[i][n] {
					t.Errorf("%q and %q: %v, Python says %v", expression, name, got, python[i][n])
				}
			}
		}
	}
	t.Logf("%d are taken, %d refused by both, %d here alone", taken, refusedBoth, refusedOnly)
	if taken < 500 {
		t.Errorf("only %d expressions were compared", taken)
	}
}

func reason(err error, words []string) bool {
	for _, word := range words {
		if strings.Contains(err.Error(), word) {
			return true
		}
	}
	return false
}

// ask has regex.py answer.
func ask(t *testing.T, question, answer any) {
	t.Helper()
	in, err := json.Marshal(question)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), rig.Python(t), "regex.py")
	cmd.Stdin, cmd.Stderr = bytes.NewReader(in), t.Output()
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out, answer); err != nil {
		t.Fatal(err)
	}
}
