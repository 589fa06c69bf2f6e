package postgres

import (
	"testing"

	"github.com/jackc/pgx/v5/pgtype"
)

// A list of ids is written in binary, 16 bytes and a length each; the text of a single id stays as
// it is, and a list with something else in it is not written in binary.
func TestUUIDs_ListsAreBinary(t *testing.T) {
	t.Parallel()
	types := pgtype.NewMap()
	registerUUIDs(types)
	ids := []string{"018f6f2a-0000-7000-8000-000000000001", "018f6f2a-0000-7000-8000-000000000002"}
	got, err := types.Encode(pgtype.UUIDArrayOID, pgtype.BinaryFormatCode, ids, nil)
	const header, each = 20, 4 + 16
	if err != nil || len(got) != header+len(ids)*each {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
	var back []string
	if err := types.Scan(pgtype.UUIDArrayOID, pgtype.BinaryFormatCode, got, &back); err != nil ||
		len(back) != 2 || back[0] != ids[0] || back[1] != ids[1] {
		t.Errorf("read back as %v, %v", back, err)
	}
	if _, err := types.Encode(pgtype.UUIDArrayOID, pgtype.BinaryFormatCode,
		[]string{ids[0], "x"}, nil); err == nil {
		t.Error("what is no UUID was written as one")
	}
}
