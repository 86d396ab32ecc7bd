// Package servers holds the tests of the http transport against servers that others wrote: nginx with client
// certificates and one that refuses gzip, an OAuth 2 server whose tokens end soon, and a proxy that asks for a password.
// What is on neither end of ours shows what our own fakes take for granted.
package servers
