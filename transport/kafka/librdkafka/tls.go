package librdkafka

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Load reads the files and returns the settings of a connection. Its errors name the file or the property, never what
// it holds.
func (t TLS) Load() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: t.SkipVerify || t.SkipHostname} //nolint:gosec // the operator asked for it
	pool, err := authorities(t.CA, t.CAPEM)
	if err != nil {
		return nil, err
	}
	config.RootCAs = pool
	if t.SkipHostname && !t.SkipVerify {
		config.VerifyConnection = func(state tls.ConnectionState) error { return verifyChain(state, pool) }
	}
	certificate, err := t.certificate()
	if err != nil {
		return nil, err
	}
	if certificate != nil {
		config.Certificates = []tls.Certificate{*certificate}
	}
	return config, nil
}

// verifyChain checks who vouches for the broker and leaves out under which name.
func verifyChain(state tls.ConnectionState, roots *x509.CertPool) error {
	between := x509.NewCertPool()
	for _, certificate := range state.PeerCertificates[1:] {
		between.AddCert(certificate)
	}
	_, err := state.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: between})
	if err != nil {
		return &tls.CertificateVerificationError{UnverifiedCertificates: state.PeerCertificates, Err: err}
	}
	return nil
}

// authorities reads the certificates of a file, of each file in a folder, or of a text; nil where neither is set.
func authorities(path, text string) (*x509.CertPool, error) {
	if path == "" && text == "" {
		return nil, nil
	}
	pool := x509.NewCertPool()
	if text != "" {
		if !pool.AppendCertsFromPEM([]byte(text)) {
			return nil, errors.New("reading the CA: the text holds no certificate")
		}
		return pool, nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("reading the CA: %w", err)
	}
	paths := []string{path}
	if info.IsDir() {
		if paths, err = filepath.Glob(filepath.Join(path, "*")); err != nil {
			return nil, fmt.Errorf("reading the CA's folder: %w", err)
		}
	}
	found := false
	for _, one := range paths {
		content, err := os.ReadFile(one)
		if err != nil && info.IsDir() {
			continue // a folder may hold others' files
		}
		if err != nil {
			return nil, fmt.Errorf("reading the CA: %w", err)
		}
		found = pool.AppendCertsFromPEM(content) || found
	}
	if !found {
		return nil, fmt.Errorf("reading the CA: %s holds no certificate", path)
	}
	return pool, nil
}

// certificate reads the client's certificate and key; nil where none is set.
func (t TLS) certificate() (*tls.Certificate, error) {
	if t.Cert == "" && t.CertPEM == "" {
		return nil, nil
	}
	certificate, err := content(t.Cert, t.CertPEM)
	if err != nil {
		return nil, fmt.Errorf("reading the client certificate: %w", err)
	}
	key := certificate
	if t.Key != "" || t.KeyPEM != "" {
		if key, err = content(t.Key, t.KeyPEM); err != nil {
			return nil, fmt.Errorf("reading the client's key: %w", err)
		}
	}
	if key, err = plainKey(key, t.KeyPassword); err != nil {
		return nil, fmt.Errorf("reading the client's key: %w", err)
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, fmt.Errorf("reading the client certificate: %w", err)
	}
	return &pair, nil
}

func content(path, text string) ([]byte, error) {
	if path == "" {
		return []byte(text), nil
	}
	return os.ReadFile(path)
}

// plainKey returns PEM text in which the private key is not encrypted.
func plainKey(text []byte, password string) ([]byte, error) {
	for rest := text; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return text, nil
		}
		// Go calls the first kind obsolete, which does not change the files that people have.
		old := x509.IsEncryptedPEMBlock(block) //nolint:staticcheck // said above
		if !old && block.Type != "ENCRYPTED PRIVATE KEY" {
			continue
		}
		if password == "" {
			return nil, errors.New("it is encrypted: set ssl.key.password")
		}
		var der []byte
		var err error
		if old {
			der, err = x509.DecryptPEMBlock(block, []byte(password)) //nolint:staticcheck // said above
			block.Headers = nil
		} else {
			der, err = decryptPKCS8(block.Bytes, password)
			block.Type = "PRIVATE KEY"
		}
		if err != nil {
			return nil, fmt.Errorf("decrypting it: %w", err)
		}
		return pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: der}), nil
	}
}
