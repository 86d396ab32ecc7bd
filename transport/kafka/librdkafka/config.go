package librdkafka

import "time"

// Config is what a producer's properties say, checked and with defaults filled in.
type Config struct {
	// Brokers are the addresses to begin with, as host:port; at least one.
	Brokers  []string
	ClientID string

	// TLS is nil for plaintext, SASL for connections without a login.
	TLS  *TLS
	SASL *SASL

	// Acks is -1 for all in-sync replicas, or 1 for the leader alone.
	Acks int
	// Idempotent lets brokers drop the copies that retries make. It needs Acks -1.
	Idempotent  bool
	Compression Compression
	Partitioner Partitioner
	// MaxInFlight counts for producers that are not Idempotent.
	MaxInFlight int
	Linger      time.Duration
	// LingerSet: linger.ms stands in the settings; otherwise Linger is librdkafka's default.
	LingerSet bool
	// MaxMessageBytes is the size of the largest batch, and so of the largest record, before it is compressed, in bytes.
	MaxMessageBytes int
	// MaxBufferedRecords and MaxBufferedBytes bound what waits in the client.
	MaxBufferedRecords, MaxBufferedBytes int
	// Retries is how often a record is sent again before the client gives it up.
	Retries                     int
	RetryBackoff, RetryMaxDelay time.Duration
	// MessageTimeout bounds a record's way from its first attempt to its acknowledgement; 0: nothing does.
	MessageTimeout time.Duration
	// RequestTimeout is how long brokers wait for replicas, SocketTimeout how much longer the client waits for an answer.
	RequestTimeout, SocketTimeout time.Duration
	ConnectTimeout, IdleTimeout   time.Duration
	MetadataMaxAge                time.Duration
	KeepAlive                     bool
	// Network is tcp, tcp4 or tcp6.
	Network string
	// CreateTopics lets brokers that make topics on demand make one that is missing.
	CreateTopics bool

	// Unknown are properties that librdkafka has not either, Ignored are those of librdkafka's that mean nothing here,
	// both as they are written in the settings, sorted. Parse has warned of them.
	Unknown, Ignored []string
}

// TLS is how brokers and client show who they are. Of each pair of a path and a PEM text at most one is set.
type TLS struct {
	// CA is a file or a folder of files, CAPEM the certificates themselves: the only authorities that are trusted. Both
	// empty: those of the system.
	CA, CAPEM string
	// Cert and Key are the client's; a Cert without a Key holds both.
	Cert, CertPEM string
	Key, KeyPEM   string
	// KeyPassword decrypts the key.
	KeyPassword string
	// SkipVerify believes whoever answers; SkipHostname believes anyone whom the authorities vouch for.
	SkipVerify, SkipHostname bool
}

// Mechanism is a way of logging in, by its registered name.
type Mechanism string

// The mechanisms that there are.
const (
	Plain       Mechanism = "PLAIN"
	ScramSHA256 Mechanism = "SCRAM-SHA-256"
	ScramSHA512 Mechanism = "SCRAM-SHA-512"
	OAuthBearer Mechanism = "OAUTHBEARER"
)

// SASL is how the client logs in.
type SASL struct {
	Mechanism Mechanism
	Username  string
	Password  Secret
	// OAuth is for OAuthBearer; nil: the caller brings its own tokens.
	OAuth *OAuth
}

// Secret is a value, or a file that holds it and is read again for each use.
type Secret struct{ Value, File string }

// OAuth says where tokens come from: from an endpoint, or for tests from nowhere.
type OAuth struct {
	// Endpoint is an http or https address. Empty: the token is made here, without a signature (Unsecured).
	Endpoint     string
	ClientID     string
	ClientSecret Secret
	Scope        string
	// Extensions are sent to the broker beside the token.
	Extensions map[string]string
	// CA is a file or a folder of files with further authorities of the endpoint.
	CA        string
	Unsecured *Unsecured
}

// Unsecured is a token without a signature (RFC 7515, A.5), as librdkafka's default handler makes it.
type Unsecured struct {
	PrincipalClaim, Principal string
	ScopeClaim                string
	Scope                     []string
	Life                      time.Duration
}

// Compression is a codec's name and level.
type Compression struct {
	Codec string // none, gzip, snappy, lz4 or zstd
	// Level is the codec's own; DefaultLevel leaves it to the codec.
	Level int
}

// DefaultLevel leaves a codec's level to the codec.
const DefaultLevel = -1

// Secrets are the values that must not be shown.
func (c Config) Secrets() []string {
	var secrets []string
	if c.SASL != nil {
		secrets = append(secrets, c.SASL.Password.Value)
		if c.SASL.OAuth != nil {
			secrets = append(secrets, c.SASL.OAuth.ClientSecret.Value)
		}
	}
	if c.TLS != nil {
		secrets = append(secrets, c.TLS.KeyPEM, c.TLS.KeyPassword)
	}
	return secrets
}
