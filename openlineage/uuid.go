package openlineage

import (
	"crypto/sha1" //nolint:gosec // the algorithm is openlineage-python's; nothing is kept secret by it
	"encoding/binary"
	"math/big"
	"time"

	"github.com/google/uuid"
)

// StaticUUID returns the id that openlineage-python's generate_static_uuid makes of an instant and some bytes: shaped
// like a version 7 UUID, the same for the same arguments. openlineage-prefect makes its run ids so, of a run's start
// time and "namespace.runname". Instants are good to the microsecond; finer digits are cut off.
func StaticUUID(at time.Time, data []byte) uuid.UUID {
	at = at.UTC().Truncate(time.Microsecond)
	iso := at.Format("2006-01-02T15:04:05")
	if at.Nanosecond() != 0 {
		iso += at.Format(".000000")
	}
	sum := sha1.Sum(append([]byte(iso+"+00:00"), data...)) //nolint:gosec // see the import

	// The digest's bits go where they go in the Python original: bits 0 to 11 behind the version, 14 to 75 behind the
	// variant, which stands in the place of bits 12 and 13.
	var id uuid.UUID
	var ms [8]byte
	binary.BigEndian.PutUint64(ms[:], uint64(pythonMillis(at.UnixMicro())))
	copy(id[:6], ms[2:])
	id[6] = 0x70 | sum[0]>>4
	id[7] = sum[0]<<4 | sum[1]>>4
	tail := binary.BigEndian.Uint64(sum[1:9])<<4 | uint64(sum[9]>>4)
	binary.BigEndian.PutUint64(id[8:], tail&^(3<<62)|2<<62)
	return id
}

// pythonMillis is int(datetime.timestamp() * 1000): Python divides integers with correct rounding, multiplies in
// double precision and cuts toward zero. Plain integer arithmetic gives other ids in some years.
func pythonMillis(micros int64) int64 {
	seconds, _ := big.NewRat(micros, 1_000_000).Float64()
	return int64(seconds * 1000)
}
