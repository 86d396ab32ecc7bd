package openlineage_test

import (
	"strings"
	"testing"

	"github.com/prefect-openlineage/listener/openlineage"
)

func TestExactFilter(t *testing.T) {
	t.Parallel()
	filter := openlineage.ExactFilter("etl")
	for name, want := range map[string]bool{"etl": true, "etl.load": false, "ETL": false, "": false} {
		if filter.Matches(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
	if (openlineage.Filter{}).Matches("") || openlineage.ExactFilter("").Matches("") {
		t.Error("a filter without a name names a job")
	}
}

// The expectations are those of Python's re.match.
func TestRegexFilter(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		expression string
		is, isNot  []string
	}{
		{`sec`, []string{"sec", "secret"}, []string{"my_secret", "Sec"}},
		{`.*sec`, []string{"my_secret"}, []string{"seldom", "a\nsec"}},
		{`sec$`, []string{"sec", "sec\n"}, []string{"secret", "sec\n\n"}},
		{`sec\Z`, []string{"sec"}, []string{"sec\n"}},
		{`(?m)a$`, []string{"a\nb"}, []string{"ab"}},
		{`a\n^b`, nil, []string{"a\nb"}},
		{`(?m)a\n^b`, []string{"a\nb"}, nil},
		{`a|b`, []string{"a", "bc"}, []string{"ca"}},
		{`(?i)etl`, []string{"ETL.load"}, []string{"my etl"}},
		{`(?i:e)tl`, []string{"Etl"}, []string{"ETL"}},
		{`(?s).b`, []string{"\nb"}, nil},
		{`(?-i:a)`, []string{"a"}, []string{"A"}},
		{`\d+`, []string{"1", "٣"}, []string{"x"}},
		{`(?a)\d`, []string{"1"}, []string{"٣"}},
		{`\D`, []string{"x"}, []string{"٣"}},
		{`\w{2}`, []string{"éa", "数据", "_1"}, []string{"a-"}},
		{`\W`, []string{"-"}, []string{"é"}},
		{`[\w-]+$`, []string{"é-ü"}, []string{"a b"}},
		{`[^\W_]+$`, []string{"éa"}, []string{"a_b"}},
		{`[\W]`, []string{"-"}, []string{"é"}},
		{`\s`, []string{" ", "\u00a0", "\x1c", "\u2028", "\u0085"}, []string{"_", "\u200b"}},
		{`[\S]`, []string{"x"}, []string{"\u00a0"}},
		{`[]a]`, []string{"]", "a"}, []string{"b"}},
		{`[^]a]`, []string{"b"}, []string{"]"}},
		{`[a\-c]`, []string{"-", "a"}, []string{"b"}},
		{`[a-]`, []string{"-"}, []string{"b"}},
		{`[[:alpha:]]`, []string{"[]", "a]"}, []string{"b"}},
		{`[\b]`, []string{"\b"}, []string{"b"}},
		{`a{,2}$`, []string{"", "aa"}, []string{"aaa"}},
		{`a{2}b`, []string{"aab"}, []string{"ab"}},
		{`a{1,}?b`, []string{"aab"}, []string{"b"}},
		{`a{b}`, []string{"a{b}"}, []string{"ab"}},
		{`a{}`, []string{"a{}"}, []string{"a"}},
		{`(?P<who>a|b)c`, []string{"ac"}, []string{"c"}},
		{`(?P<ä>a)`, []string{"a"}, nil},
		{`a(?#no c)b`, []string{"ab"}, []string{"ac"}},
		{`\x41\u00e9\U0001f600\101\0`, []string{"Aé😀A\x00"}, []string{"A"}},
		{`\.\/\-\é`, []string{"./-é"}, []string{"a/-é"}},
		{`\Aetl\b`, []string{"etl", "etl.load"}, []string{"etls"}},
		{`()`, []string{"", "x"}, nil},
		{`x*`, []string{"", "y"}, nil},
	} {
		filter, err := openlineage.RegexFilter(test.expression)
		if err != nil {
			t.Errorf("%s: %v", test.expression, err)
			continue
		}
		for _, name := range test.is {
			if !filter.Matches(name) {
				t.Errorf("%s does not match %q", test.expression, name)
			}
		}
		for _, name := range test.isNot {
			if filter.Matches(name) {
				t.Errorf("%s matches %q", test.expression, name)
			}
		}
	}
}

func TestRegexFilterRefusals(t *testing.T) {
	t.Parallel()
	for expression, want := range map[string]string{
		`(?=a)`: "looks ahead", `(?!a)b`: "looks ahead", `(?<=a)b`: "looks back", `(?<!a)b`: "looks back",
		`(a)\1`: "refers back", `(?P<a>x)(?P=a)`: "refers back", `(a)?(?(1)b|c)`: "depends on a group",
		`(?>a)b`: "an atomic group", `a++`: "possessive", `a{2}+`: "possessive", `(?x)a b`: "switch 'x'", `(?L)a`: "switch 'L'",
		`a(?i)b`: "at its beginning", `(?-i)a`: "at its beginning", `\N{BULLET}`: "by its name", `\q`: "means nothing", `\x4`: "cut off",
		`(`: "nothing closes", `a)`: "closes nothing", `[a`: "nothing closes", `[`: "nothing closes", `\`: "ends in a backslash",
		`[b-a]`: "don't fit", `[a-\d]`: "don't fit", `[\d-a]`: "begins with a class", `(?#a`: "without an end", `(?P<a`: "has no end",
		`^*a`: "repeats a place", `a\Z{2}`: "repeats a place", `(?m)$(?#x)+`: "repeats a place",
		`*a`: "can't be read", `a**`: "can't be read", `a{2000}`: "can't be read", `(?i`: "without an end", `\ud8`: "cut off", `\777`: "no character",
	} {
		_, err := openlineage.RegexFilter(expression)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", expression, err, want)
		}
	}
}

// Whatever stands there, it is either taken or refused.
func FuzzRegexFilter(f *testing.F) {
	for _, seed := range []string{`a(?i:b)[^\W_]{,3}$`, `(?P<x>[]-])`, `\x41\0`, `(?m)^a|b$`, `[\`, `(?`, `{`, `a{,`} {
		f.Add(seed, "name")
	}
	f.Fuzz(func(_ *testing.T, expression, name string) {
		if filter, err := openlineage.RegexFilter(expression); err == nil {
			filter.Matches(name)
		}
	})
}
