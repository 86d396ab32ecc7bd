package sqlite

import (
	"bytes"
	"compress/flate"
	"fmt"
	"io"
)

// The codecs of stored bodies.
const (
	plain   = 0
	deflate = 1
)

// packAbove is the size below which packing a body does not pay.
const packAbove = 256

// packer compresses bodies. It belongs to the one writer.
type packer struct {
	buf bytes.Buffer
	w   *flate.Writer
}

// pack returns the stored form, which is valid until the next call.
func (p *packer) pack(body []byte) (codec int, stored []byte, err error) {
	if len(body) < packAbove {
		return plain, notNil(body), nil
	}
	p.buf.Reset()
	if p.w == nil {
		if p.w, err = flate.NewWriter(&p.buf, flate.BestSpeed); err != nil {
			return 0, nil, fmt.Errorf("packing a body: %w", err)
		}
	} else {
		p.w.Reset(&p.buf)
	}
	if _, err := p.w.Write(body); err != nil {
		return 0, nil, fmt.Errorf("packing a body: %w", err)
	}
	if err := p.w.Close(); err != nil {
		return 0, nil, fmt.Errorf("packing a body: %w", err)
	}
	if p.buf.Len() >= len(body) {
		return plain, body, nil
	}
	return deflate, p.buf.Bytes(), nil
}

// unpack returns the body as it was given.
func unpack(codec int, stored []byte) ([]byte, error) {
	switch codec {
	case plain:
		return stored, nil
	case deflate:
		body, err := io.ReadAll(flate.NewReader(bytes.NewReader(stored)))
		if err != nil {
			return nil, fmt.Errorf("unpacking a body: %w", err)
		}
		return body, nil
	default:
		return nil, fmt.Errorf("unpacking a body: codec %d is unknown", codec)
	}
}

// notNil keeps an empty value apart from NULL.
func notNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
