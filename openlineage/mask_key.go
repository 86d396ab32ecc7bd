package openlineage

import (
	"slices"
	"strings"
	"unicode"
)

// SecretKey says whether a name, of a parameter or in a query or a connection string, looks like that of a secret.
// Names are taken apart at capitals and at anything that is no letter: apiKey, API_KEY and x-api-key are the same.
// In doubt it is one, except for names that count or describe secrets: max_tokens, token_type.
func SecretKey(name string) bool {
	words := nameWords(name)
	if slices.ContainsFunc(words, describesSecrets) {
		return false
	}
	joined := strings.Join(words, "")
	for _, part := range []string{
		"password", "passwd", "passphrase", "passcode", "secret", "apikey", "accesskey", "accountkey", "sharedkey",
		"privatekey", "secretkey", "signingkey", "encryptionkey", "masterkey", "storagekey", "functionskey",
		"credential", "authorization", "connectionstring", "sharedaccess",
	} {
		if strings.Contains(joined, part) {
			return true
		}
	}
	for _, word := range words {
		switch word {
		case "pwd", "pass", "pw", "psw", "token", "tokens", "sig", "signature", "auth", "jwt", "bearer", "cookie",
			"cookies", "sas", "otp", "creds", "cred", "pat", "dbpass", "userpass":
			return true
		}
		if strings.HasSuffix(word, "token") || strings.HasSuffix(word, "pwd") {
			return true
		}
	}
	return false
}

// describesSecrets is true of words that make a name say something about secrets rather than be one.
func describesSecrets(word string) bool {
	switch word {
	case "max", "min", "num", "count", "counts", "limit", "length", "len", "size", "total", "ttl", "expiry",
		"expires", "expiration", "lifetime", "type", "column", "columns", "field", "fields", "policy", "enabled":
		return true
	}
	return false
}

// nameWords returns the lower-case words of a name: API_KEY, apiKey and x-api-key all end in api, key.
func nameWords(name string) []string {
	var words []string
	var word []rune
	flush := func() {
		if len(word) > 0 {
			words = append(words, strings.ToLower(string(word)))
			word = word[:0]
		}
	}
	runes := []rune(name)
	for i, r := range runes {
		if !unicode.IsLetter(r) {
			flush()
			continue
		}
		// A capital begins a word when a small letter stands before it, or when it is the last of several capitals:
		// AWSAccessKey is aws, access, key.
		if i > 0 && unicode.IsUpper(r) {
			next := i+1 < len(runes) && unicode.IsLower(runes[i+1])
			if unicode.IsLower(runes[i-1]) || unicode.IsUpper(runes[i-1]) && next {
				flush()
			}
		}
		word = append(word, r)
	}
	flush()
	return words
}
