package librdkafka

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/des" //nolint:gosec // what older tools encrypt keys with
	"crypto/pbkdf2"
	"crypto/sha1" //nolint:gosec // the default of the format
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"fmt"
	"hash"
)

// encryptedKey is a private key as RFC 5958 and RFC 8018 (PBES2) encrypt it, which is what openssl writes.
type encryptedKey struct {
	Algorithm pkix.AlgorithmIdentifier
	Data      []byte
}

type pbes2 struct {
	KeyDerivation, Cipher pkix.AlgorithmIdentifier
}

type pbkdf2Parameters struct {
	Salt       []byte
	Iterations int
	Length     int                      `asn1:"optional"`
	Function   pkix.AlgorithmIdentifier `asn1:"optional"`
}

// The object identifiers of RFC 8018, in their text form.
const (
	oidPBES2  = "1.2.840.113549.1.5.13"
	oidPBKDF2 = "1.2.840.113549.1.5.12"
)

// hashes are the functions that a password is stretched with. The format's default is SHA-1.
var hashes = map[string]func() hash.Hash{
	"":                    sha1.New,
	"1.2.840.113549.2.7":  sha1.New,
	"1.2.840.113549.2.9":  sha256.New,
	"1.2.840.113549.2.10": sha512.New384,
	"1.2.840.113549.2.11": sha512.New,
}

// ciphers are the block ciphers in CBC mode, with the size of their keys in bytes.
var ciphers = map[string]struct {
	size int
	make func([]byte) (cipher.Block, error)
}{
	"2.16.840.1.101.3.4.1.2":  {16, aes.NewCipher},
	"2.16.840.1.101.3.4.1.22": {24, aes.NewCipher},
	"2.16.840.1.101.3.4.1.42": {32, aes.NewCipher},
	"1.2.840.113549.3.7":      {24, des.NewTripleDESCipher},
}

// maxIterations bounds the work that a file can ask for; tools use some hundred thousand at most.
const maxIterations = 10_000_000

var errOtherEncryption = errors.New("it is encrypted in a way that is not known here; write it anew with openssl pkcs8 -topk8")

// decryptPKCS8 returns the key inside.
func decryptPKCS8(der []byte, password string) ([]byte, error) {
	var key encryptedKey
	if _, err := asn1.Unmarshal(der, &key); err != nil {
		return nil, fmt.Errorf("it is no encrypted key: %w", err)
	}
	var scheme pbes2
	var derivation pbkdf2Parameters
	var iv []byte
	if key.Algorithm.Algorithm.String() != oidPBES2 {
		return nil, errOtherEncryption
	}
	if _, err := asn1.Unmarshal(key.Algorithm.Parameters.FullBytes, &scheme); err != nil {
		return nil, errOtherEncryption
	}
	if scheme.KeyDerivation.Algorithm.String() != oidPBKDF2 {
		return nil, errOtherEncryption
	}
	if _, err := asn1.Unmarshal(scheme.KeyDerivation.Parameters.FullBytes, &derivation); err != nil {
		return nil, errOtherEncryption
	}
	if _, err := asn1.Unmarshal(scheme.Cipher.Parameters.FullBytes, &iv); err != nil {
		return nil, errOtherEncryption
	}
	function, hashKnown := hashes[derivation.Function.Algorithm.String()]
	kind, cipherKnown := ciphers[scheme.Cipher.Algorithm.String()]
	if !hashKnown || !cipherKnown || derivation.Iterations < 1 || derivation.Iterations > maxIterations {
		return nil, errOtherEncryption
	}
	stretched, err := pbkdf2.Key(function, password, derivation.Salt, derivation.Iterations, kind.size)
	if err != nil {
		return nil, err
	}
	block, err := kind.make(stretched)
	if err != nil {
		return nil, err
	}
	return unpad(block, iv, key.Data)
}

// unpad decrypts and takes the padding off, which tells a right password from most wrong ones.
func unpad(block cipher.Block, iv, data []byte) ([]byte, error) {
	size := block.BlockSize()
	if len(iv) != size || len(data) == 0 || len(data)%size != 0 {
		return nil, errOtherEncryption
	}
	clear := make([]byte, len(data))
	cipher.NewCBCDecrypter(block, iv).CryptBlocks(clear, data)
	pad := int(clear[len(clear)-1])
	if pad == 0 || pad > size {
		return nil, errors.New("the password is wrong")
	}
	for _, b := range clear[len(clear)-pad:] {
		if int(b) != pad {
			return nil, errors.New("the password is wrong")
		}
	}
	return clear[:len(clear)-pad], nil
}
