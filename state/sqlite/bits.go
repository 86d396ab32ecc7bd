package sqlite

// bits is a set of small numbers, kept as bytes without zeros at the end: one byte while there are few destinations.
type bits []byte

func (b bits) has(n int64) bool {
	i := int(n / 8)
	return i < len(b) && b[i]&(1<<(n%8)) != 0
}

// with returns the set with n in it. It leaves b alone.
func (b bits) with(n int64) bits {
	grown := make(bits, max(len(b), int(n/8)+1))
	copy(grown, b)
	grown[n/8] |= 1 << (n % 8)
	return grown
}
