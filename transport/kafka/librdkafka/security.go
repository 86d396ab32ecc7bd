package librdkafka

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/prefect-openlineage/listener/transport/settings"
)

// security reads how brokers and client know each other. What is set for a way that security.protocol does not take
// has no effect, which librdkafka does not say either but in its log.
func (r *reader) security() (*TLS, *SASL) {
	protocol := r.choice([]string{"plaintext", "ssl", "sasl_plaintext", "sasl_ssl"}, "security.protocol")
	if r.tokens {
		r.saslNames()
		r.find("sasl.mechanisms", "sasl.mechanism")
		return r.tls(), &SASL{Mechanism: OAuthBearer}
	}
	var t *TLS
	if made := r.tls(); strings.HasSuffix(protocol, "ssl") {
		t = made
	}
	if strings.HasPrefix(protocol, "sasl") {
		return t, r.sasl()
	}
	if name := r.find("sasl.mechanisms", "sasl.mechanism"); name != "" {
		r.warn("security.protocol", "is "+protocol+", so nobody logs in and "+name+" has no effect; sasl_ssl logs in")
	}
	r.saslNames()
	return t, nil
}

func (r *reader) tls() *TLS {
	t := &TLS{
		CA: r.text("ssl.ca.location"), CAPEM: r.text("ssl.ca.pem"),
		Cert: r.text("ssl.certificate.location"), CertPEM: r.text("ssl.certificate.pem"),
		Key: r.text("ssl.key.location"), KeyPEM: r.text("ssl.key.pem"), KeyPassword: r.text("ssl.key.password"),
		SkipVerify:   !r.flag(true, "enable.ssl.certificate.verification"),
		SkipHostname: r.choice([]string{"https", "none"}, "ssl.endpoint.identification.algorithm") == "none",
	}
	if t.CA == "probe" {
		t.CA = "" // where systems keep theirs, which is where Go looks too
	}
	r.either("ssl.ca.location", "ssl.ca.pem", t.CA, t.CAPEM)
	r.either("ssl.certificate.location", "ssl.certificate.pem", t.Cert, t.CertPEM)
	r.either("ssl.key.location", "ssl.key.pem", t.Key, t.KeyPEM)
	if t.Key+t.KeyPEM != "" && t.Cert+t.CertPEM == "" {
		r.refuse("ssl.certificate.location", "is missing beside the key", "set it, or ssl.certificate.pem")
	}
	for name, pem := range map[string]string{
		"ssl.ca.pem": t.CAPEM, "ssl.certificate.pem": t.CertPEM, "ssl.key.pem": t.KeyPEM,
	} {
		if pem != "" && !strings.Contains(pem, "-----BEGIN") {
			r.refuse(name, "is no PEM text", "a path belongs into "+strings.TrimSuffix(name, "pem")+"location")
		}
	}
	r.refused("is a PKCS#12 store, which can't be read here",
		"make PEM files of it with openssl pkcs12 and set ssl.certificate.location and ssl.key.location",
		"ssl.keystore.location", "ssl.keystore.password")
	r.refused("can't be honoured here", "leave it out once you accept that revoked certificates are believed",
		"ssl.crl.location")
	if t.SkipVerify {
		r.warn("enable.ssl.certificate.verification", "is off: whoever answers at the address is believed")
	}
	return t
}

// either refuses two ways of saying the same.
func (r *reader) either(a, b, first, second string) {
	if first != "" && second != "" {
		r.refuse(a, "stands beside "+b, "set one of the two")
	}
}

// saslNames notes the names that mean something only with a login.
func (r *reader) saslNames() {
	for _, name := range []string{"sasl.username", "sasl.password", "sasl.passwordFile"} {
		r.find(name)
	}
	r.oauth()
}

func (r *reader) sasl() *SASL {
	const mechanism = "sasl.mechanism"
	name := r.find("sasl.mechanisms", mechanism)
	sasl := &SASL{Username: r.text("sasl.username"), Password: r.secret("sasl.password")}
	oauth := r.oauth()
	if name == "" {
		r.refuse(mechanism, "is missing, and librdkafka's default, GSSAPI (Kerberos), can't be done here",
			"set it to SCRAM-SHA-512, SCRAM-SHA-256, PLAIN or OAUTHBEARER")
		return nil
	}
	sasl.Mechanism = Mechanism(strings.ToUpper(r.s.String(name)))
	switch sasl.Mechanism {
	case Plain, ScramSHA256, ScramSHA512:
		if sasl.Username == "" {
			r.refuse("sasl.username", "is missing", "")
		}
		if sasl.Password.empty() {
			r.refuse("sasl.password", "is missing", "set it, or the path of a file that holds it as sasl.passwordFile")
		}
	case OAuthBearer:
		if sasl.OAuth = oauth; oauth == nil {
			r.refuse(mechanism, "OAUTHBEARER needs to know where tokens come from",
				"set sasl.oauthbearer.method: oidc with its client id, secret and token endpoint")
		}
	case "GSSAPI":
		r.refuse(name, "GSSAPI (Kerberos) can't be done here",
			"let a listener of the brokers take SCRAM-SHA-512, PLAIN, OAUTHBEARER or a client certificate")
	default:
		r.refuse(name, "is not known", "it takes SCRAM-SHA-512, SCRAM-SHA-256, PLAIN and OAUTHBEARER")
	}
	return sasl
}

const oauthPrefix = "sasl.oauthbearer."

// oauth reads where tokens come from; nil where that is not said.
func (r *reader) oauth() *OAuth {
	method := r.choice([]string{"default", "oidc"}, oauthPrefix+"method")
	o := &OAuth{
		ClientID: r.text(oauthPrefix+"client.id", oauthPrefix+"client.credentials.client.id"),
		Scope:    r.text(oauthPrefix + "scope"), Endpoint: r.text(oauthPrefix + "token.endpoint.url"),
		CA:           r.text("https.ca.location"),
		ClientSecret: r.oauthSecret(), Extensions: r.extensions(),
	}
	if o.CA == "probe" {
		o.CA = ""
	}
	r.refused("is a text where only a file will do", "set https.ca.location", "https.ca.pem")
	unsecured := r.flag(false, "enable.sasl.oauthbearer.unsecure.jwt")
	made, beside := r.unsecured()
	for _, name := range []string{"assertion.private.key.file", "assertion.private.key.pem", "assertion.file"} {
		r.refused("makes assertions, which can't be done here", "use a client id and secret", oauthPrefix+name)
	}
	if r.choice([]string{"client_credentials", "urn:ietf:params:oauth:grant-type:jwt-bearer"}, oauthPrefix+"grant.type") != "client_credentials" {
		r.refuse(oauthPrefix+"grant.type", "can't be done here", "client_credentials is the one that can")
	}
	if r.choice([]string{"none", "azure_imds"}, oauthPrefix+"metadata.authentication.type") != "none" {
		r.refuse(oauthPrefix+"metadata.authentication.type", "can't be done here", "use a client id and secret")
	}
	switch {
	case method == "oidc":
		r.oidc(o)
		return o
	case unsecured:
		if made.Principal == "" {
			r.refuse(oauthPrefix+"config", "has no principal", "such as principal=listener")
		}
		return &OAuth{Unsecured: made, Extensions: beside}
	default:
		return nil
	}
}

func (r *reader) oauthSecret() Secret {
	name := r.find(oauthPrefix+"client.credentials.client.secret", oauthPrefix+"client.secret")
	if name == "" {
		name = oauthPrefix + "client.secret"
	}
	return r.secret(name)
}

// oidc checks what an endpoint is asked with.
func (r *reader) oidc(o *OAuth) {
	if o.ClientID == "" {
		r.refuse(oauthPrefix+"client.id", "is missing", "")
	}
	if o.ClientSecret.empty() {
		r.refuse(oauthPrefix+"client.secret", "is missing",
			"set it, or the path of a file that holds it as "+oauthPrefix+"client.secretFile")
	}
	if u, err := url.Parse(o.Endpoint); err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") {
		r.refuse(oauthPrefix+"token.endpoint.url", "must be an http or https address", "")
	}
}

// extensions reads name=value pairs with commas between.
func (r *reader) extensions() map[string]string {
	name := r.find(oauthPrefix + "extensions")
	if name == "" {
		return nil
	}
	pairs := map[string]string{}
	for pair := range strings.SplitSeq(r.s.String(name), ",") {
		key, value, ok := strings.Cut(strings.TrimSpace(pair), "=")
		if !ok || key == "" {
			r.refuse(name, "must be name=value pairs with commas between", "")
			return nil
		}
		pairs[key] = value
	}
	return pairs
}

// unsecured reads what a token without a signature says, and the extensions beside it: name=value pairs with spaces
// between.
func (r *reader) unsecured() (*Unsecured, map[string]string) {
	u := &Unsecured{PrincipalClaim: "sub", ScopeClaim: "scope", Life: time.Hour}
	extensions := map[string]string{}
	name := r.find(oauthPrefix + "config")
	if name == "" {
		return u, nil
	}
	for pair := range strings.FieldsSeq(r.s.String(name)) {
		key, value, ok := strings.Cut(pair, "=")
		extension, isExtension := strings.CutPrefix(key, "extension_")
		switch {
		case !ok:
			r.refuse(name, "must be name=value pairs with spaces between", "such as principal=listener lifeSeconds=3600")
			return u, nil
		case isExtension:
			extensions[extension] = value
		case key == "principalClaimName":
			u.PrincipalClaim = value
		case key == "principal":
			u.Principal = value
		case key == "scopeClaimName":
			u.ScopeClaim = value
		case key == "scope":
			u.Scope = strings.Split(value, ",")
		case key == "lifeSeconds":
			seconds, err := strconv.Atoi(value)
			if err != nil || seconds < 1 || seconds > settings.MaxSeconds {
				r.refuse(name, "has a lifeSeconds that is no number of seconds up to a day", "")
				return u, nil
			}
			u.Life = time.Duration(seconds) * time.Second
		default:
			r.refuse(name, "holds a name that is not known",
				"it takes principalClaimName, principal, scopeClaimName, scope, lifeSeconds and extension_NAME")
			return u, nil
		}
	}
	return u, extensions
}
