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
func unpack(codec int, stored []byte) ([]byte, error) { return new(unpacker).unpack(codec, stored) }

// unpacker unpacks one body after the other. What it works with takes tens of kB and longer to make than a body to
// unpack, so whoever reads many bodies uses one for all.
type unpacker struct {
	stored bytes.Reader
	r      io.ReadCloser
	out    bytes.Buffer
}

// unpack returns the body as it was given, in memory of its own.
func (u *unpacker) unpack(codec int, stored []byte) ([]byte, error) {
	switch codec {
	case plain:
		return stored, nil
	case deflate:
		body, err := u.inflate(stored)
		if err != nil {
			return nil, fmt.Errorf("unpacking a body: %w", err)
		}
		return body, nil
	default:
		return nil, fmt.Errorf("unpacking a body: codec %d is unknown", codec)
	}
}

func (u *unpacker) inflate(stored []byte) ([]byte, error) {
	u.stored.Reset(stored)
	if again, ok := u.r.(flate.Resetter); ok {
		if err := again.Reset(&u.stored, nil); err != nil {
			return nil, err
		}
	} else {
		u.r = flate.NewReader(&u.stored)
	}
	u.out.Reset()
	if _, err := u.out.ReadFrom(u.r); err != nil {
		return nil, err
	}
	return append(make([]byte, 0, u.out.Len()), u.out.Bytes()...), nil
}

// notNil keeps an empty value apart from NULL.
func notNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
