package postgres

import (
	"encoding/hex"
	"fmt"

	"github.com/jackc/pgx/v5/pgtype"
)

// registerUUIDs lets strings be written as UUIDs in binary. The library cannot: for a list of ten
// thousand node ids it builds an error message that quotes them all, drops it, and sends text.
func registerUUIDs(types *pgtype.Map) {
	element := &pgtype.Type{Name: "uuid", OID: pgtype.UUIDOID, Codec: uuidCodec{}}
	types.RegisterType(element)
	types.RegisterType(&pgtype.Type{Name: "_uuid", OID: pgtype.UUIDArrayOID,
		Codec: &pgtype.ArrayCodec{ElementType: element}})
}

type uuidCodec struct{ pgtype.UUIDCodec }

// PlanEncode implements pgtype.Codec.
func (c uuidCodec) PlanEncode(
	m *pgtype.Map, oid uint32, format int16, value any,
) pgtype.EncodePlan {
	if _, ok := value.(string); ok && format == pgtype.BinaryFormatCode {
		return uuidPlan{}
	}
	return c.UUIDCodec.PlanEncode(m, oid, format, value)
}

type uuidPlan struct{}

// uuidLength is that of the usual spelling, which is read without an allocation.
const uuidLength = 36

// Encode implements pgtype.EncodePlan. What is no UUID is sent as text after the error, so that
// PostgreSQL says what is wrong with it.
func (uuidPlan) Encode(value any, buf []byte) ([]byte, error) {
	if text, _ := value.(string); len(text) == uuidLength {
		if id, ok := parseUUID(text); ok {
			return append(buf, id[:]...), nil
		}
	}
	var id pgtype.UUID
	if err := id.Scan(value); err != nil {
		return nil, fmt.Errorf("encode a UUID: %w", err)
	}
	return append(buf, id.Bytes[:]...), nil
}

// parseUUID reads the usual spelling.
func parseUUID(text string) (id [16]byte, ok bool) {
	if text[8] != '-' || text[13] != '-' || text[18] != '-' || text[23] != '-' {
		return id, false
	}
	var digits [2 * len(id)]byte
	n := copy(digits[:], text[:8])
	for _, at := range []int{9, 14, 19} {
		n += copy(digits[n:], text[at:at+4])
	}
	copy(digits[n:], text[24:])
	_, err := hex.Decode(id[:], digits[:])
	return id, err == nil
}
