package ops

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"net/http"
	"strings"
)

// credentials are what some paths ask for, as digests, which are of one length whatever the words are.
type credentials struct{ user, password [sha256.Size]byte }

func parseAuth(auth string) (*credentials, error) {
	if auth == "" {
		return nil, nil
	}
	user, password, ok := strings.Cut(auth, ":")
	if !ok || user == "" || password == "" {
		return nil, errors.New("the credentials must be of the form user:password")
	}
	return &credentials{sha256.Sum256([]byte(user)), sha256.Sum256([]byte(password))}, nil
}

// guard lets a request pass that brings the credentials, where some are set.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		wanted := s.auth.Load()
		if wanted == nil {
			next.ServeHTTP(w, r)
			return
		}
		user, password, _ := r.BasicAuth()
		u, p := sha256.Sum256([]byte(user)), sha256.Sum256([]byte(password))
		// Both are always compared, and in constant time, so that the time taken tells nothing.
		if subtle.ConstantTimeCompare(u[:], wanted.user[:])&subtle.ConstantTimeCompare(p[:], wanted.password[:]) != 1 {
			w.Header().Set("WWW-Authenticate", `Basic realm="listener", charset="UTF-8"`)
			http.Error(w, "credentials needed", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}
